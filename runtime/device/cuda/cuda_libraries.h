// Libraries of the CUDA toolkit that are loaded at start, where they are there.
#pragma once

#include <cublasLt.h>
#include <cudnn.h>
#include <nccl.h>
#include <nvrtc.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

// The functions of each library that are called. One that is not in this list is added to it, and
// is then a member of the struct of its library, with its own type.
#define TESSERA_CUBLASLT_FUNCTIONS(F)     \
  F(cublasLtCreate)                       \
  F(cublasLtGetStatusString)              \
  F(cublasLtGetVersion)                   \
  F(cublasLtMatmul)                       \
  F(cublasLtMatmulAlgoGetHeuristic)       \
  F(cublasLtMatmulDescCreate)             \
  F(cublasLtMatmulDescDestroy)            \
  F(cublasLtMatmulDescSetAttribute)       \
  F(cublasLtMatmulPreferenceCreate)       \
  F(cublasLtMatmulPreferenceDestroy)      \
  F(cublasLtMatmulPreferenceSetAttribute) \
  F(cublasLtMatrixLayoutCreate)           \
  F(cublasLtMatrixLayoutDestroy)          \
  F(cublasLtMatrixLayoutSetAttribute)

#define TESSERA_CUDNN_FUNCTIONS(F) \
  F(cudnnBackendCreateDescriptor)  \
  F(cudnnBackendDestroyDescriptor) \
  F(cudnnBackendExecute)           \
  F(cudnnBackendFinalize)          \
  F(cudnnBackendGetAttribute)      \
  F(cudnnBackendSetAttribute)      \
  F(cudnnCreate)                   \
  F(cudnnGetErrorString)           \
  F(cudnnGetLastErrorString)       \
  F(cudnnGetVersion)               \
  F(cudnnSetStream)

#define TESSERA_NVRTC_FUNCTIONS(F) \
  F(nvrtcCompileProgram)           \
  F(nvrtcCreateProgram)            \
  F(nvrtcDestroyProgram)           \
  F(nvrtcGetCUBIN)                 \
  F(nvrtcGetCUBINSize)             \
  F(nvrtcGetErrorString)           \
  F(nvrtcGetProgramLog)            \
  F(nvrtcGetProgramLogSize)        \
  F(nvrtcVersion)

#define TESSERA_NCCL_FUNCTIONS(F) \
  F(ncclAllReduce)                \
  F(ncclCommDestroy)              \
  F(ncclCommInitAll)              \
  F(ncclGetErrorString)           \
  F(ncclGetVersion)               \
  F(ncclGroupEnd)                 \
  F(ncclGroupStart)

namespace tessera {

// The functions of a library, under their own names: cublaslt->cublasLtMatmul(...).
#define TESSERA_POINTER(function) decltype(&::function) function = nullptr;
struct CublasLt {
  TESSERA_CUBLASLT_FUNCTIONS(TESSERA_POINTER)
};
struct Cudnn {
  TESSERA_CUDNN_FUNCTIONS(TESSERA_POINTER)
};
struct Nvrtc {
  TESSERA_NVRTC_FUNCTIONS(TESSERA_POINTER)
};
struct Nccl {
  TESSERA_NCCL_FUNCTIONS(TESSERA_POINTER)
};
#undef TESSERA_POINTER

// Each returns the functions of a library, which is loaded at the first call and stays loaded.
// Libraries are looked for where the dynamic loader does, and then in CUDA_HOME and
// /usr/local/cuda. Thread-safe. Errors: FAILED_PRECONDITION, saying what is missing, if the library
// or a function in it is not there; always the same one.
absl::StatusOr<const CublasLt*> LoadCublasLt();
absl::StatusOr<const Cudnn*> LoadCudnn();
absl::StatusOr<const Nvrtc*> LoadNvrtc();
absl::StatusOr<const Nccl*> LoadNccl();

// Says of each library which version is loaded, or why it is not: "cuDNN 9.13.0",
// "NCCL is missing: libnccl.so.2: cannot open shared object file". Loads all of them.
std::vector<std::string> DescribeCudaLibraries();

}  // namespace tessera

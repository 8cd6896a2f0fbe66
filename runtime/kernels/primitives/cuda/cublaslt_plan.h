// Plans of matrix products for cuBLASLt.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/device/cuda/cuda_libraries.h"
#include "runtime/tensor/dtype.h"

namespace tessera::cuda {

// How elements of a dtype are multiplied.
struct Types {
  cudaDataType_t element, scale;
  cublasComputeType_t compute;
  cudaDataType_t output = element;
};

// The scales of operands of 8 bits: where they lie in device memory. Null for others.
struct Scales {
  const void *a = nullptr, *b = nullptr;
};

// One call: what an algorithm is chosen for. Matrices are row-major.
struct Product {
  DType dtype;
  int64_t m, n, k;
  bool transpose_a, transpose_b, conjugate_a, conjugate_b;
  int64_t batch, a_stride, b_stride;  // strides in matrices
  bool bias, add;
  cublasLtEpilogue_t epilogue;
  uint32_t alignment;    // of all operands, in bytes
  bool is_e4m3 = false;  // a and b are; dtype is the output's

  template <typename H>
  friend H AbslHashValue(H h, const Product& p) {
    return H::combine(std::move(h), p.dtype, p.m, p.n, p.k, p.transpose_a, p.transpose_b,
                      p.conjugate_a, p.conjugate_b, p.batch, p.a_stride, p.b_stride, p.bias, p.add,
                      static_cast<int>(p.epilogue), p.alignment, p.is_e4m3);
  }
  friend bool operator==(const Product&, const Product&) = default;
};

// The descriptors of a product, with the algorithm that the library chose. cuBLASLt's matrices are
// column-major, so that it is asked for the transpose: output^T = b^T a^T.
class ProductPlan {
 public:
  explicit ProductPlan(const CublasLt& lt) : lt_(lt) {}
  ProductPlan(const ProductPlan&) = delete;
  ProductPlan& operator=(const ProductPlan&) = delete;
  ~ProductPlan();

  // Makes the descriptors, which needs no GPU. Called first. Errors: INTERNAL.
  absl::Status Describe(const Product& p, const Types& types, const Scales& scales);
  // False if the library has no algorithm.
  absl::StatusOr<bool> ChooseAlgorithm(const Product& p, cublasLtHandle_t handle,
                                       size_t workspace_size);
  // Enqueues the product. One thread at a time.
  absl::Status Run(const Product& p, cublasLtHandle_t handle, void* workspace,
                   size_t workspace_size, cudaStream_t stream, const char* a, const char* b,
                   const Scales& scales, const void* bias, char* output);

 private:
  absl::Status SetOperation(cublasLtMatmulDescAttributes_t attribute, bool transpose,
                            bool conjugate);
  absl::Status SetScales(const Scales& scales);
  absl::Status MakeLayout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t batch,
                          int64_t stride, cublasLtMatrixLayout_t* layout);

  const CublasLt& lt_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, output_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace tessera::cuda

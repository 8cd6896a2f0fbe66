// Errors of CUDA as statuses.
#pragma once

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Returns true for errors after which a process cannot use the GPU any more: a fault in a kernel,
// a memory error that could not be corrected, a GPU that fell off the bus.
bool IsGpuLost(cudaError_t error);

// Returns "WHAT: cudaErrorName: description", OK for cudaSuccess. RESOURCE_EXHAUSTED if memory ran
// out, UNAVAILABLE if the GPU is lost, INVALID_ARGUMENT for a launch that no GPU can do, else
// INTERNAL. The error is not the thread's last one any more, which would be taken for that of its
// next launch.
absl::Status CudaStatus(cudaError_t error, absl::string_view what);

// Makes a GPU, by CUDA's number, the current one of the calling thread. Everybody uses this, so
// that it knows which one is.
absl::Status UseGpu(int gpu);

}  // namespace tessera

// Returns from the enclosing function, which returns a status, if a call of the CUDA runtime fails.
#define RETURN_IF_CUDA_ERROR(call)                                             \
  do {                                                                         \
    if (const cudaError_t error_ = (call); error_ != cudaSuccess) [[unlikely]] \
      return ::tessera::CudaStatus(error_, #call);                             \
  } while (false)

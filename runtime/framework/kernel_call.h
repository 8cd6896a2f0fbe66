// Calls of kernels that outlive a lack of memory.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The status of the exception that is being handled: RESOURCE_EXHAUSTED where memory is short, and
// INTERNAL for all others. Call it in a catch block.
absl::Status StatusOfException();

// Computes, and returns exceptions as statuses. Tensors are allocated with a status, but what a
// kernel keeps beside them, such as a std::vector of sums, throws where it is too large, also in
// KernelContext::ParallelFor(), which throws what its body has thrown on any thread.
inline absl::Status CallKernel(OpKernel& kernel, KernelContext& context) {
  try {
    return kernel.Compute(context);
  } catch (...) {
    return StatusOfException();
  }
}

}  // namespace tessera

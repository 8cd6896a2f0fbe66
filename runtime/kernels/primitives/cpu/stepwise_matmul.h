// Batched matrix products of half that round each step, as TensorFlow's CPU kernel of Einsum does;
// its other kernels multiply in float.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/primitives/matmul.h"

namespace tessera {

// All tensors are of half. Errors: RESOURCE_EXHAUSTED for scratch memory.
absl::Status StepwiseMatMul(KernelContext& ctx, const MatMulShape& shape, const Tensor& a,
                            const Tensor& b, Tensor* output);

}  // namespace tessera

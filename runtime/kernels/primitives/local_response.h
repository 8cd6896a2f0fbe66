// Local response normalisation across channels (Krizhevsky, Sutskever and Hinton, 2012).
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// y[c] = x[c] / (bias + alpha * sum over c' within `radius` of c of x[c']^2) ^ beta
struct LocalResponseOptions {
  int64_t radius = 0;
  float bias = 0, alpha = 0, beta = 0;
};

// Tensors are half, bfloat16 or float, which all are computed in float, and hold pixels of
// `channels` elements each, at least one. Outputs do not share memory with inputs.

struct LocalResponse {
  using Function = absl::Status(KernelContext& ctx, const LocalResponseOptions& options,
                                int64_t channels, const Tensor& x, Tensor* y);
};

struct LocalResponseGradient {
  // Sets `dx` to the gradient of x, from the gradient of y and from what LocalResponse took and
  // gave.
  using Function = absl::Status(KernelContext& ctx, const LocalResponseOptions& options,
                                int64_t channels, const Tensor& dy, const Tensor& x,
                                const Tensor& y, Tensor* dx);
};

}  // namespace tessera

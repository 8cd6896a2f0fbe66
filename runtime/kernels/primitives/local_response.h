// Local response normalisation across channels (Krizhevsky, Sutskever and Hinton, 2012).
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// The parameters of y[c] = x[c] / (bias + alpha * s) ^ beta, where s is the sum of x[c']^2 over the
// channels c' within `radius` of c.
struct LocalResponseOptions {
  int64_t radius = 0;
  float bias = 0, alpha = 0, beta = 0;
};

// Tensors are of half, bfloat16 or float, all of which are computed in float. They hold pixels of
// `channels` elements each, at least one. Outputs do not share memory with inputs.

struct LocalResponse {
  using Function = absl::Status(KernelContext& ctx, const LocalResponseOptions& options,
                                int64_t channels, const Tensor& x, Tensor* y);
};

struct LocalResponseGradient {
  // Sets `dx` to the gradient of x, given the gradient of y and the input and output of
  // LocalResponse.
  using Function = absl::Status(KernelContext& ctx, const LocalResponseOptions& options,
                                int64_t channels, const Tensor& dy, const Tensor& x,
                                const Tensor& y, Tensor* dx);
};

}  // namespace tessera

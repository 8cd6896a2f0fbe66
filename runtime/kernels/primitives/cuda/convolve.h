// The convolution, for primitives that are made of several.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/primitives/convolution.h"

namespace tessera::cuda {

// As Convolution::Run() (runtime/kernels/primitives/convolution.h).
absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                      const Tensor& input, const ScaledWeights& filter, const PostOpInputs& inputs,
                      Tensor* output);

}  // namespace tessera::cuda

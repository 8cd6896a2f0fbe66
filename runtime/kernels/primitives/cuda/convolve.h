// The convolution, for primitives that are made of several.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/primitives/convolution.h"

namespace tessera::cuda {

// Does what Convolution::Run() does (runtime/kernels/primitives/convolution.h). `arranged_filter`:
// see LibraryFilter (runtime/kernels/primitives/cuda/product_library.h).
absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                      const Tensor& input, const ScaledWeights& filter, const PostOpInputs& inputs,
                      Tensor* output, const Tensor* arranged_filter = nullptr);

}  // namespace tessera::cuda

// Depthwise convolutions of half and their gradients as TensorFlow's CPU kernels round them: after
// each product that is added to a sum. Errors: RESOURCE_EXHAUSTED for scratch memory.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/convolution_shape.h"

namespace tessera {

// True for two-dimensional convolutions of several channels that come last, each of which makes
// outputs of its own.
bool IsStepwiseDepthwise(const ConvolutionShape& shape);

// All tensors are of half, and hold elements.
absl::Status StepwiseDepthwise(KernelContext& ctx, const ConvolutionShape& shape,
                               const Tensor& input, const Tensor& filter, Tensor* output);
absl::Status StepwiseDepthwiseInputGradient(KernelContext& ctx, const ConvolutionShape& shape,
                                            const Tensor& gradient, const Tensor& filter,
                                            Tensor* output);
absl::Status StepwiseDepthwiseFilterGradient(KernelContext& ctx, const ConvolutionShape& shape,
                                             const Tensor& input, const Tensor& gradient,
                                             Tensor* output);

}  // namespace tessera

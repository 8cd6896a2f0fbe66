// Gradients of two-dimensional convolutions of half as TensorFlow's CPU kernels round them: in
// products of matrices whose rows are the patches of images. Errors: RESOURCE_EXHAUSTED for scratch
// memory.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/convolution_shape.h"

namespace tessera {

// True for convolutions that TensorFlow has on CPUs: of images whose channels come last, in one
// group.
bool HasStepwiseGradients(const ConvolutionShape& shape);

// All tensors are of half, and hold elements.
absl::Status StepwiseInputGradient(KernelContext& ctx, const ConvolutionShape& shape,
                                   const Tensor& gradient, const Tensor& filter, Tensor* output);
absl::Status StepwiseFilterGradient(KernelContext& ctx, const ConvolutionShape& shape,
                                    const Tensor& input, const Tensor& gradient, Tensor* output);

}  // namespace tessera

// The primitives of the two gradients of a convolution.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/convolution_shape.h"

namespace tessera {

// Computes the gradient with respect to the input. `gradient` has the shape of the convolution's
// output, and `output`, which is allocated, that of its input. A transposed convolution is the same
// operation. All tensors have one dtype. Errors: UNIMPLEMENTED for a dtype that is not a real
// number; RESOURCE_EXHAUSTED for scratch memory.
struct ConvolutionInputGradient {
  using Function = absl::Status(KernelContext& ctx, const ConvolutionShape& shape,
                                const Tensor& gradient, const Tensor& filter, Tensor* output);
};

// Computes the gradient with respect to the filter. `output`, which is allocated, has the filter's
// shape. Dtypes and errors are those of ConvolutionInputGradient.
struct ConvolutionFilterGradient {
  using Function = absl::Status(KernelContext& ctx, const ConvolutionShape& shape,
                                const Tensor& input, const Tensor& gradient, Tensor* output);
};

}  // namespace tessera

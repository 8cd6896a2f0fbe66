// The two gradients of a convolution.
#pragma once

#include "runtime/kernels/primitives/cpu/convolution.h"

namespace tessera {

// The gradient with respect to the input. `gradient` has the shape of the convolution's output, and
// `output` that of its input. A transposed convolution is the same operation. Errors: UNIMPLEMENTED
// for a dtype that is not a real number; RESOURCE_EXHAUSTED for scratch memory.
absl::Status ConvolveBackwardInput(KernelContext& ctx, const ConvolutionShape& shape,
                                   const Tensor& gradient, const Tensor& filter, Tensor* output);

// The gradient with respect to the filter. `output` has the filter's shape. The errors are the
// same.
absl::Status ConvolveBackwardFilter(KernelContext& ctx, const ConvolutionShape& shape,
                                    const Tensor& input, const Tensor& gradient, Tensor* output);

}  // namespace tessera

// The two gradients of a convolution.
#pragma once

#include "runtime/kernels/primitives/cpu/convolution.h"

namespace tessera {

// Gradient by the input: `gradient` has the shape of the convolution's output, `output` that of its
// input. This is also what a transposed convolution computes.
// Errors: UNIMPLEMENTED for a dtype that is no real number; RESOURCE_EXHAUSTED for scratch memory.
absl::Status ConvolveBackwardInput(KernelContext& ctx, const ConvolutionShape& shape,
                                   const Tensor& gradient, const Tensor& filter, Tensor* output);

// Gradient by the filter: `output` has the filter's shape. Errors as above.
absl::Status ConvolveBackwardFilter(KernelContext& ctx, const ConvolutionShape& shape,
                                    const Tensor& input, const Tensor& gradient, Tensor* output);

}  // namespace tessera

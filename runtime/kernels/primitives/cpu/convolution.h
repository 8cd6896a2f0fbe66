// Convolutions of one to three spatial dimensions: grouped, depthwise, dilated, with bias and
// activation, for every numeric dtype that TensorFlow's CPU kernels take.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/convolution_shape.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// output = activation(convolution(input, filter) + bias + output). `bias` has out_channels
// elements, and is null unless post_ops.bias. The previous content of `output` is added only if
// post_ops.add. All tensors have the dtype of `input`, which is float if the filter is scaled;
// `output` is allocated. If `packed` is not null the filter is taken as constant and packed once.
// Errors: UNIMPLEMENTED for a dtype that is not a real number; RESOURCE_EXHAUSTED for scratch
// memory.
absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                      const Tensor& input, const ScaledWeights& filter, const Tensor* bias,
                      PackedWeights* packed, Tensor* output, Numerics numerics = Numerics::kFast);

}  // namespace tessera

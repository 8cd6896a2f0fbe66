// Convolutions of one to three spatial dimensions: grouped, depthwise, dilated, with bias and
// activation, for every numeric dtype that TensorFlow's CPU kernels take.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

using SpatialDims = absl::InlinedVector<int64_t, 3>;

// The geometry of a convolution. There are `groups` groups of in_channels / groups input and
// out_channels / groups output channels each.
struct ConvolutionShape {
  int64_t batch = 0;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t groups = 1;
  SpatialDims input;  // spatial sizes, slowest-varying dimension first
  SpatialDims filter;
  SpatialDims output;
  SpatialDims strides;
  SpatialDims dilations;  // 1 is a dense filter
  SpatialDims pad_before;
  SpatialDims pad_after;
  bool channels_first = false;  // NCHW instead of NHWC
};

// output = activation(convolution(input, filter) + bias + output). `bias` has out_channels
// elements, and is null unless post_ops.bias. The previous content of `output` is added only if
// post_ops.add. All tensors have the dtype of `input`, which is float if the filter is scaled;
// `output` is allocated. If `packed` is not null the filter is taken as constant and packed once.
// Errors: UNIMPLEMENTED for a dtype that is not a real number; RESOURCE_EXHAUSTED for scratch
// memory.
absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                      const Tensor& input, const ScaledWeights& filter, const Tensor* bias,
                      PackedWeights* packed, Tensor* output);

}  // namespace tessera

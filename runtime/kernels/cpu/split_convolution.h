// Convolutions of float images with constant filters by split_float.h.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/kernels/cpu/convolution.h"

namespace tessera {

// True if ConvolveSplit() can compute this and is expected to be faster than oneDNN's convolution:
// dense filters over NHWC images, with enough channels, where SplitProductsAreSupported().
bool SplitConvolutionPays(const ConvolutionShape& shape);

// As Convolve(). Returns how many images were computed, from the first one on: fewer than all if
// some of those that follow, or the filter, have no split. The filter is packed once.
//
// The padded images become rows of channels, one for each point, so that a tap of the filter is a
// product of all rows, moved, with the tap's matrix. With a stride of s, points that are s apart
// lie beside each other. Where an image has few channels, a row holds what one line of the filter
// sees. Errors: RESOURCE_EXHAUSTED for scratch memory.
absl::StatusOr<int64_t> ConvolveSplit(KernelContext& ctx, const ConvolutionShape& shape,
                                      const PostOps& post_ops, const float* input,
                                      const Tensor& filter, const float* bias,
                                      PackedWeights* packed, float* output);

}  // namespace tessera

// Convolutions of float images with constant filters by split_float.h.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/cpu/convolution.h"
#include "runtime/kernels/cpu/split_product.h"

namespace tessera {

// True if ConvolveSplit() can compute this and is expected to be faster than oneDNN's convolution:
// dense filters over NHWC images, with enough channels, where SplitProductsAreSupported().
bool SplitConvolutionPays(const ConvolutionShape& shape);

// As Convolve(). The filter is packed once. Images that have no split, or all if the filter has
// none, are left to compute_exactly().
//
// The padded images become rows of channels, one for each point, so that a tap of the filter is a
// product of all rows, moved, with the tap's matrix. With a stride of s, points that are s apart
// lie beside each other.
// Errors: those of compute_exactly(); RESOURCE_EXHAUSTED for scratch memory.
absl::Status ConvolveSplit(KernelContext& ctx, const ConvolutionShape& shape,
                           const PostOps& post_ops, const float* input, const Tensor& filter,
                           const float* bias, PackedWeights* packed, float* output,
                           ComputeItems compute_exactly);

}  // namespace tessera

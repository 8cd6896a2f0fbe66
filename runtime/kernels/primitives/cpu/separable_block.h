// A depthwise-separable block, as in MobileNets, computed without storing its intermediate images.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/primitives/cpu/convolution.h"

namespace tessera {

// The geometry of one of
//   depthwise convolution -> pointwise convolution
//   pointwise convolution -> depthwise convolution -> pointwise convolution [-> + input]
// of float images in NHWC. Each convolution is followed by a bias and a clamping activation.
struct SeparableBlock {
  ConvolutionShape depthwise;  // two-dimensional, with as many output as input channels
  int64_t in_channels = 0;     // of the block; the depthwise convolution's unless the block expands
  int64_t out_channels = 0;
  bool expands = false;     // a pointwise convolution comes first
  bool adds_input = false;  // before the last activation; input and output have one shape
};

// One convolution of a block. Filters are [1, 1, in, out] or [height, width, channels, 1] and are
// packed once if they are constant. A bias has one element for each output channel. The depthwise
// filter must be finite: an infinity would turn the zeros of the padding into NaN.
struct SeparableLayer {
  const Tensor* filter = nullptr;
  const Tensor* bias = nullptr;
  Activation activation = Activation::kNone;  // must be a clamp
  PackedWeights* packed = nullptr;            // null: the filter is packed in each run
};

// Computes the block on the step's threads. `expand` is used only if the block expands. `output` is
// allocated and does not overlap `input`.
//
// Image rows are expanded when the depthwise convolution first needs them, and are kept in a ring
// buffer until it needs them no more, so that they stay in the cache. The threads share images and
// rows. Where there are too few rows, because neighbouring parts would expand the same rows twice,
// the threads share the channels instead, and each computes partial sums.
//
// With fast numerics the last bits of the sums may depend on the number of threads. Errors: RESOURCE_EXHAUSTED for scratch
// memory.
absl::Status ComputeSeparableBlock(KernelContext& ctx, const SeparableBlock& block,
                                   const SeparableLayer& expand, const SeparableLayer& depthwise,
                                   const SeparableLayer& project, const float* input,
                                   float* output, Numerics numerics = Numerics::kFast);

}  // namespace tessera

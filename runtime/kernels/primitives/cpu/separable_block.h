// A depthwise convolution with what makes its input and what its output goes to, as in MobileNets,
// without a detour over memory.
#pragma once

#include "absl/status/status.h"
#include "runtime/kernels/primitives/cpu/convolution.h"

namespace tessera {

// The geometry of one of
//   depthwise convolution -> pointwise convolution
//   pointwise convolution -> depthwise convolution -> pointwise convolution [-> + input]
// of float images in NHWC, where each convolution is followed by a bias and a clamping activation.
struct SeparableBlock {
  ConvolutionShape depthwise;  // of two dimensions, with as many channels out as in
  int64_t in_channels = 0;     // of the block; the depthwise convolution's unless the block expands
  int64_t out_channels = 0;
  bool expands = false;     // a pointwise convolution comes first
  bool adds_input = false;  // in the end, before the activation: input and output are of one shape
};

// One of a block's convolutions. Filters are [1, 1, in, out] or [height, width, channels, 1], taken
// as constant and packed once; biases are vectors of the channels out. The depthwise filter is
// finite: an infinity would make NaNs of the zeros that lie beyond images.
struct SeparableLayer {
  const Tensor* filter = nullptr;
  const Tensor* bias = nullptr;
  Activation activation = Activation::kNone;  // IsClamp()
  PackedWeights* packed = nullptr;
};

// Computes the block on the step's threads. `expand` counts only if the block expands. `output`
// is allocated and does not overlap `input`.
//
// Rows of the image are expanded as the depthwise convolution comes to them and kept until it is
// through with them, so that they stay in the cache. Threads share images and rows; few rows, whose
// halves would have too many neighbours in common, they share by channels, each making its part of
// every sum.
//
// Sums are as exact as other sums of floats, and differ in their last bits with the number of
// threads. Errors: RESOURCE_EXHAUSTED for scratch memory.
absl::Status ComputeSeparableBlock(KernelContext& ctx, const SeparableBlock& block,
                                   const SeparableLayer& expand, const SeparableLayer& depthwise,
                                   const SeparableLayer& project, const float* input,
                                   float* output);

}  // namespace tessera

// One row of a depthwise convolution over NHWC images, or of one with small groups of channels. It
// has as many outputs as input channels.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/cpu/epilogue.h"

namespace tessera {

// Channels are computed in multiples of the floats of a cache line, which fill one vector or two.
inline constexpr int64_t kDepthwiseStep = 16;

struct DepthwiseRow {
  int64_t channels = 0;
  int64_t group = 1;  // channels of a group: 1, or 4 if `width` is 3
  // The channels that are computed. Both are multiples of kDepthwiseStep, unless `end_channel` is
  // the number of channels.
  int64_t begin_channel = 0, end_channel = 0;
  int64_t points = 0;   // of a row of the input
  int64_t outputs = 0;  // points of the row of the output
  int64_t width = 3;    // of the filter: 3 or 5
  int64_t stride = 1;   // 1 or 2
  int64_t pad = 0;      // points of padding before the first one
  // The rows of the input that lie under the filter and inside the image, with `points` points
  // each.
  int64_t rows = 0;
  const float* input = nullptr;
  const float* filter = nullptr;  // [rows, width, group, channels], for these rows
  Epilogue epilogue;              // its activation, if any, is a clamp
  float* output = nullptr;
  // The row of the input to prefetch, because it is needed next; null if there is none.
  const float* prefetch = nullptr;
};

// Computes output(i, c) = clamp(bias(c) + sum over y, g, x of input(y, i * stride - pad + x,
// c - c % group + g) * filter(y, x, g, c) + output(i, c)). Points outside the rows are left out.
// Each sum is added up in this order, whatever its place in the row. Compiled for AVX-512, and for
// what every processor here has.
namespace avx512 {
void ComputeDepthwiseRow(const DepthwiseRow& row);
}
namespace avx2 {
void ComputeDepthwiseRow(const DepthwiseRow& row);
}

}  // namespace tessera

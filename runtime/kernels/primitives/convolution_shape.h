// The geometry of a convolution.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"

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

  friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

// True for a filter of one position, with stride 1 and no padding, over images whose channels come
// last: each point of the output depends on the same point of the input alone.
bool IsPointwise(const ConvolutionShape& shape);

// Returns the number of multiplications and additions.
double FlopsOf(const ConvolutionShape& shape);

}  // namespace tessera

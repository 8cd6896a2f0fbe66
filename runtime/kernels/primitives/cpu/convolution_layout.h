// How the tensors of a convolution lie in memory, for oneDNN and for plain loops.
#pragma once

#include "runtime/kernels/primitives/cpu/convolution.h"
#include "runtime/kernels/primitives/cpu/onednn.h"

namespace tessera {

// The layout of float data with dims {batch, channels, spatial...} in oneDNN's order.
dnnl::memory::desc DataLayout(const ConvolutionShape& shape, int64_t channels,
                              const SpatialDims& spatial);
// The layout of TensorFlow's float filter: dims {groups, out, in, spatial...}, groups left out if
// there is one.
dnnl::memory::desc FilterLayout(const ConvolutionShape& shape);
// `spatial` as oneDNN takes it, `offset` added to each.
dnnl::memory::dims Dims(const SpatialDims& spatial, int64_t offset = 0);
// Everything of a convolution that a primitive depends on.
onednn::Key ConvolutionKey(const ConvolutionShape& shape);

// Element strides of data, for loops of our own.
struct DataStrides {
  int64_t batch = 0;
  int64_t channel = 0;
  SpatialDims spatial;
};
DataStrides StridesOf(const ConvolutionShape& shape, int64_t channels, const SpatialDims& spatial);

// One tap of the filter over one output point. Offsets are in elements, for channel 0 of the image.
struct Tap {
  int64_t index = 0;  // in the flattened spatial filter
  int64_t input_offset = 0;
};
// Calls visit(Tap) for each tap of output point `point` (flattened) that lies inside the input.
template <typename Visit>
void ForEachTap(const ConvolutionShape& shape, const DataStrides& input, int64_t point,
                Visit&& visit) {
  const int rank = static_cast<int>(shape.input.size());
  int64_t taps = 1;
  SpatialDims first(rank);
  for (int d = rank - 1; d >= 0; --d) {
    first[d] = point % shape.output[d] * shape.strides[d] - shape.pad_before[d];
    point /= shape.output[d];
    taps *= shape.filter[d];
  }
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t rest = tap, offset = 0;
    bool inside = true;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t at = first[d] + rest % shape.filter[d] * shape.dilations[d];
      rest /= shape.filter[d];
      inside = inside && at >= 0 && at < shape.input[d];
      offset += at * input.spatial[d];
    }
    if (inside) visit(Tap{tap, offset});
  }
}

}  // namespace tessera

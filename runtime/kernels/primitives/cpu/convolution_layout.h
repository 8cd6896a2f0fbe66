// The memory layouts of a convolution's tensors, for oneDNN and for plain loops.
#pragma once

#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/cpu/onednn.h"

namespace tessera {

// Returns the layout of float data with dims {batch, channels, spatial...} in oneDNN's order.
dnnl::memory::desc DataLayout(const ConvolutionShape& shape, int64_t channels,
                              const SpatialDims& spatial);
// Returns the layout of TensorFlow's float filter, with dims {groups, out, in, spatial...};
// `groups` is left out if there is one group.
dnnl::memory::desc FilterLayout(const ConvolutionShape& shape);
// Returns `spatial` as oneDNN takes it, with `offset` added to each size.
dnnl::memory::dims Dims(const SpatialDims& spatial, int64_t offset = 0);
// Returns a key of everything that a primitive for this convolution depends on.
onednn::Key ConvolutionKey(const ConvolutionShape& shape);

// The element strides of data, for plain loops.
struct DataStrides {
  int64_t batch = 0;
  int64_t channel = 0;
  SpatialDims spatial;
};
DataStrides StridesOf(const ConvolutionShape& shape, int64_t channels, const SpatialDims& spatial);

// One position of the filter over one output point. Offsets are in elements, for channel 0 of the
// image.
struct KernelPosition {
  int64_t index = 0;  // in the flattened spatial filter
  int64_t input_offset = 0;
};
// Calls visit(KernelPosition) for each filter position of the (flattened) output point `point` that
// lies inside the input.
template <typename Visit>
void ForEachKernelPosition(const ConvolutionShape& shape, const DataStrides& input, int64_t point,
                           Visit&& visit) {
  const int rank = static_cast<int>(shape.input.size());
  int64_t positions = 1;
  SpatialDims first(rank);
  for (int d = rank - 1; d >= 0; --d) {
    first[d] = point % shape.output[d] * shape.strides[d] - shape.pad_before[d];
    point /= shape.output[d];
    positions *= shape.filter[d];
  }
  for (int64_t position = 0; position < positions; ++position) {
    int64_t rest = position, offset = 0;
    bool inside = true;
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t at = first[d] + rest % shape.filter[d] * shape.dilations[d];
      rest /= shape.filter[d];
      inside = inside && at >= 0 && at < shape.input[d];
      offset += at * input.spatial[d];
    }
    if (inside) visit(KernelPosition{position, offset});
  }
}

}  // namespace tessera

#include "runtime/kernels/primitives/convolution_shape.h"

#include <algorithm>

namespace tessera {

bool IsPointwise(const ConvolutionShape& shape) {
  const auto all_are = [](const SpatialDims& dims, int64_t value) {
    return std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return d == value; });
  };
  return !shape.channels_first && all_are(shape.filter, 1) && all_are(shape.strides, 1) &&
         all_are(shape.pad_before, 0) && all_are(shape.pad_after, 0);
}

double FlopsOf(const ConvolutionShape& shape) {
  double flops = 2.0 * shape.batch * shape.out_channels * (shape.in_channels / shape.groups);
  for (size_t d = 0; d < shape.output.size(); ++d) flops *= shape.output[d] * shape.filter[d];
  return flops;
}

}  // namespace tessera

#include "runtime/kernels/primitives/convolution_shape.h"

namespace tessera {

double FlopsOf(const ConvolutionShape& shape) {
  double flops = 2.0 * shape.batch * shape.out_channels * (shape.in_channels / shape.groups);
  for (size_t d = 0; d < shape.output.size(); ++d) flops *= shape.output[d] * shape.filter[d];
  return flops;
}

}  // namespace tessera

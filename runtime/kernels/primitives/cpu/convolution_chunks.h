// Splitting a convolution into chunks that run in parallel.
#pragma once

#include <vector>

#include "runtime/kernels/primitives/convolution_shape.h"

namespace tessera {

// A convolution that computes a part of the output of a larger one from a part of its input.
struct ConvolutionChunk {
  ConvolutionShape shape;
  int64_t input_offset = 0;   // of its first element in the whole input, in elements
  int64_t output_offset = 0;  // likewise, in the whole output
};

// Returns the equivalent of a pointwise convolution in which each point is an image of its own, or
// `shape` itself if it is not pointwise.
ConvolutionShape AsPoints(const ConvolutionShape& shape);

// Splits a convolution into at most about `count` chunks of about the same size. The chunks are
// whole images if there are enough of them, otherwise ranges of the first spatial dimension that
// has more than one point (channels last only). Together they compute the whole output.
std::vector<ConvolutionChunk> SplitConvolution(const ConvolutionShape& shape, int64_t count);

// Splits the gradient with respect to the input. No two chunks share an element of the input, but
// they may share elements of the output.
std::vector<ConvolutionChunk> SplitConvolutionByInput(const ConvolutionShape& shape, int64_t count);

}  // namespace tessera

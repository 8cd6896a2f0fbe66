// Convolutions cut into pieces that run at the same time.
#pragma once

#include <vector>

#include "runtime/kernels/primitives/cpu/convolution.h"

namespace tessera {

// A convolution of its own that computes a part of another one's output, from a part of its input.
struct ConvolutionPiece {
  ConvolutionShape shape;
  int64_t input_offset = 0;   // of its first element in the whole input, in elements
  int64_t output_offset = 0;  // likewise
};

// A 1x1 convolution with stride 1 sees points, not images: then each becomes an image of its own.
// Other shapes stay as they are. With channels last alone.
ConvolutionShape AsPoints(const ConvolutionShape& shape);

// Multiplications and additions.
double FlopsOf(const ConvolutionShape& shape);

// At most about `count` pieces of about the same size, whole images if there are enough of them,
// else, with channels last, ranges of the first spatial dimension. Together they compute all of it.
std::vector<ConvolutionPiece> SplitConvolution(const ConvolutionShape& shape, int64_t count);

// The same for the gradient by the input: no two pieces have an element of the input in common, but
// of the output they may.
std::vector<ConvolutionPiece> SplitByInput(const ConvolutionShape& shape, int64_t count);

}  // namespace tessera

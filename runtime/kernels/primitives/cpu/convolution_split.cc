#include "runtime/kernels/primitives/cpu/convolution_split.h"

#include <algorithm>

namespace tessera {
namespace {

int64_t Product(const SpatialDims& dims) {
  int64_t product = 1;
  for (int64_t d : dims) product *= d;
  return product;
}

bool AllAre(const SpatialDims& dims, int64_t value) {
  return std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return d == value; });
}

// Likewise all of them can be one column.
ConvolutionShape AsOneColumn(const ConvolutionShape& shape) {
  ConvolutionShape column = AsPoints(shape);
  if (column.batch == shape.batch) return shape;
  column.input[0] = column.output[0] = column.batch;
  column.batch = 1;
  return column;
}

ConvolutionPiece Images(const ConvolutionShape& whole, int64_t begin, int64_t end) {
  ConvolutionPiece piece{.shape = whole};
  piece.shape.batch = end - begin;
  piece.input_offset = begin * Product(whole.input) * whole.in_channels;
  piece.output_offset = begin * Product(whole.output) * whole.out_channels;
  return piece;
}

// Rows [begin, end) of the output of one image. With channels last they lie in a row, as do the
// input rows that they need.
ConvolutionPiece Rows(const ConvolutionShape& whole, int64_t image, int64_t begin, int64_t end) {
  ConvolutionPiece piece = Images(whole, image, image + 1);
  const int64_t reach = (whole.filter[0] - 1) * whole.dilations[0] + 1;
  const int64_t first = begin * whole.strides[0] - whole.pad_before[0];
  const int64_t last = (end - 1) * whole.strides[0] - whole.pad_before[0] + reach;
  const int64_t from = std::max<int64_t>(first, 0), to = std::min(last, whole.input[0]);
  piece.shape.pad_before[0] = from - first;
  piece.shape.pad_after[0] = last - to;
  piece.shape.input[0] = to - from;
  piece.shape.output[0] = end - begin;
  piece.input_offset += from * (Product(whole.input) / whole.input[0]) * whole.in_channels;
  piece.output_offset += begin * (Product(whole.output) / whole.output[0]) * whole.out_channels;
  return piece;
}

// Rows [begin, end) of the input of one image, and all of the output that sees any of them.
ConvolutionPiece InputRows(const ConvolutionShape& whole, int64_t image, int64_t begin,
                           int64_t end) {
  ConvolutionPiece piece = Images(whole, image, image + 1);
  const int64_t stride = whole.strides[0], pad = whole.pad_before[0];
  const int64_t reach = (whole.filter[0] - 1) * whole.dilations[0] + 1;
  const int64_t first = std::max<int64_t>(0, (begin + pad - reach + stride) / stride);
  const int64_t last = std::min(whole.output[0], (end - 1 + pad) / stride + 1);
  piece.shape.input[0] = end - begin;
  piece.shape.output[0] = last - first;
  piece.shape.pad_before[0] = begin + pad - first * stride;
  piece.shape.pad_after[0] =
      (last - 1 - first) * stride + reach - piece.shape.pad_before[0] - (end - begin);
  piece.input_offset += begin * (Product(whole.input) / whole.input[0]) * whole.in_channels;
  piece.output_offset += first * (Product(whole.output) / whole.output[0]) * whole.out_channels;
  return piece;
}

// False for rows that see nothing but padding, or that nothing sees: no convolutions of their own.
bool IsConvolution(const ConvolutionShape& shape) {
  return shape.input[0] > 0 && shape.output[0] > 0 && shape.pad_before[0] >= 0 &&
         shape.pad_after[0] >= 0;
}

// Whole images, or rows that `rows_of` makes of ranges of the first spatial dimension of `cut`.
using RowsOf = ConvolutionPiece (*)(const ConvolutionShape&, int64_t image, int64_t begin,
                                    int64_t end);
std::vector<ConvolutionPiece> Split(const ConvolutionShape& given, int64_t count,
                                    SpatialDims ConvolutionShape::*cut, RowsOf rows_of) {
  if (count <= 1) return {{.shape = given}};
  const ConvolutionShape shape = AsOneColumn(given);
  std::vector<ConvolutionPiece> pieces;
  if (shape.batch >= count || shape.channels_first) {
    count = std::min(count, shape.batch);
    for (int64_t i = 0; i < count; ++i) {
      pieces.push_back(Images(shape, shape.batch * i / count, shape.batch * (i + 1) / count));
    }
    return pieces;
  }
  const int64_t rows = (shape.*cut)[0];
  const int64_t an_image = std::min(rows, (count + shape.batch - 1) / shape.batch);
  for (int64_t image = 0; image < shape.batch; ++image) {
    for (int64_t i = 0; i < an_image; ++i) {
      pieces.push_back(rows_of(shape, image, rows * i / an_image, rows * (i + 1) / an_image));
      if (!IsConvolution(pieces.back().shape)) return {{.shape = given}};
    }
  }
  return pieces;
}

}  // namespace

ConvolutionShape AsPoints(const ConvolutionShape& shape) {
  if (shape.channels_first || !AllAre(shape.filter, 1) || !AllAre(shape.strides, 1) ||
      !AllAre(shape.pad_before, 0) || !AllAre(shape.pad_after, 0)) {
    return shape;
  }
  ConvolutionShape points = shape;
  points.batch = shape.batch * Product(shape.input);
  std::fill(points.input.begin(), points.input.end(), 1);
  points.output = points.input;
  return points;
}

double FlopsOf(const ConvolutionShape& shape) {
  return 2.0 * shape.batch * Product(shape.output) * Product(shape.filter) * shape.out_channels *
         (shape.in_channels / shape.groups);
}

std::vector<ConvolutionPiece> SplitConvolution(const ConvolutionShape& shape, int64_t count) {
  return Split(shape, count, &ConvolutionShape::output, Rows);
}

std::vector<ConvolutionPiece> SplitByInput(const ConvolutionShape& shape, int64_t count) {
  return Split(shape, count, &ConvolutionShape::input, InputRows);
}

}  // namespace tessera

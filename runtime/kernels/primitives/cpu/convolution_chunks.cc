#include "runtime/kernels/primitives/cpu/convolution_chunks.h"

#include <algorithm>

namespace tessera {
namespace {

// Returns the product of the dimensions from `begin` on.
int64_t Product(const SpatialDims& dims, size_t begin = 0) {
  int64_t product = 1;
  for (size_t i = begin; i < dims.size(); ++i) product *= dims[i];
  return product;
}

// Returns the same pointwise convolution over a single image of one column, which holds all points.
ConvolutionShape AsOneColumn(const ConvolutionShape& shape) {
  ConvolutionShape column = AsPoints(shape);
  if (column.batch == shape.batch) return shape;
  column.input[0] = column.output[0] = column.batch;
  column.batch = 1;
  return column;
}

ConvolutionChunk Images(const ConvolutionShape& whole, int64_t begin, int64_t end) {
  ConvolutionChunk chunk{.shape = whole};
  chunk.shape.batch = end - begin;
  chunk.input_offset = begin * Product(whole.input) * whole.in_channels;
  chunk.output_offset = begin * Product(whole.output) * whole.out_channels;
  return chunk;
}

// Returns the spatial dimension that is cut: the first one with more than one point. The image of a
// series has a single row, whose points are cut.
size_t CutDim(const ConvolutionShape& shape) {
  size_t dim = 0;
  while (dim + 1 < shape.input.size() && shape.input[dim] == 1 && shape.output[dim] == 1) ++dim;
  return dim;
}

// Returns the chunk for the output rows [begin, end) of one image. Rows are counted along dimension
// `dim`. With channels last they are contiguous, and so are the input rows that they need.
ConvolutionChunk Rows(const ConvolutionShape& whole, size_t dim, int64_t image, int64_t begin,
                      int64_t end) {
  ConvolutionChunk chunk = Images(whole, image, image + 1);
  const int64_t stride = whole.strides[dim], pad = whole.pad_before[dim];
  const int64_t reach = (whole.filter[dim] - 1) * whole.dilations[dim] + 1;
  const int64_t first = begin * stride - pad;
  const int64_t last = (end - 1) * stride - pad + reach;
  const int64_t from = std::max<int64_t>(first, 0), to = std::min(last, whole.input[dim]);
  chunk.shape.pad_before[dim] = from - first;
  chunk.shape.pad_after[dim] = last - to;
  chunk.shape.input[dim] = to - from;
  chunk.shape.output[dim] = end - begin;
  chunk.input_offset += from * Product(whole.input, dim + 1) * whole.in_channels;
  chunk.output_offset += begin * Product(whole.output, dim + 1) * whole.out_channels;
  return chunk;
}

// Returns the chunk for the input rows [begin, end) of one image, with all output rows that read
// any of them.
ConvolutionChunk InputRows(const ConvolutionShape& whole, size_t dim, int64_t image, int64_t begin,
                           int64_t end) {
  ConvolutionChunk chunk = Images(whole, image, image + 1);
  const int64_t stride = whole.strides[dim], pad = whole.pad_before[dim];
  const int64_t reach = (whole.filter[dim] - 1) * whole.dilations[dim] + 1;
  const int64_t first = std::max<int64_t>(0, (begin + pad - reach + stride) / stride);
  const int64_t last = std::min(whole.output[dim], (end - 1 + pad) / stride + 1);
  chunk.shape.input[dim] = end - begin;
  chunk.shape.output[dim] = last - first;
  chunk.shape.pad_before[dim] = begin + pad - first * stride;
  chunk.shape.pad_after[dim] =
      (last - 1 - first) * stride + reach - chunk.shape.pad_before[dim] - (end - begin);
  chunk.input_offset += begin * Product(whole.input, dim + 1) * whole.in_channels;
  chunk.output_offset += first * Product(whole.output, dim + 1) * whole.out_channels;
  return chunk;
}

// Returns false for a chunk that reads only padding, or whose input is not read. Such a chunk is
// not a valid convolution.
bool IsConvolution(const ConvolutionShape& shape, size_t dim) {
  return shape.input[dim] > 0 && shape.output[dim] > 0 && shape.pad_before[dim] >= 0 &&
         shape.pad_after[dim] >= 0;
}

// Returns whole images, or chunks that `rows_of` makes of ranges of the rows of `cut`.
using RowsOf = ConvolutionChunk (*)(const ConvolutionShape&, size_t dim, int64_t image,
                                    int64_t begin, int64_t end);
std::vector<ConvolutionChunk> Split(const ConvolutionShape& given, int64_t count,
                                    SpatialDims ConvolutionShape::*cut, RowsOf rows_of) {
  if (count <= 1) return {{.shape = given}};
  const ConvolutionShape shape = AsOneColumn(given);
  std::vector<ConvolutionChunk> chunks;
  if (shape.batch >= count || shape.channels_first) {
    count = std::min(count, shape.batch);
    for (int64_t i = 0; i < count; ++i) {
      chunks.push_back(Images(shape, shape.batch * i / count, shape.batch * (i + 1) / count));
    }
    return chunks;
  }
  const size_t dim = CutDim(shape);
  const int64_t rows = (shape.*cut)[dim];
  const int64_t an_image = std::min(rows, (count + shape.batch - 1) / shape.batch);
  for (int64_t image = 0; image < shape.batch; ++image) {
    for (int64_t i = 0; i < an_image; ++i) {
      chunks.push_back(rows_of(shape, dim, image, rows * i / an_image, rows * (i + 1) / an_image));
      if (!IsConvolution(chunks.back().shape, dim)) return {{.shape = given}};
    }
  }
  return chunks;
}

}  // namespace

ConvolutionShape AsPoints(const ConvolutionShape& shape) {
  if (!IsPointwise(shape)) return shape;
  ConvolutionShape points = shape;
  points.batch = shape.batch * Product(shape.input);
  std::fill(points.input.begin(), points.input.end(), 1);
  points.output = points.input;
  return points;
}

std::vector<ConvolutionChunk> SplitConvolution(const ConvolutionShape& shape, int64_t count) {
  return Split(shape, count, &ConvolutionShape::output, Rows);
}

std::vector<ConvolutionChunk> SplitConvolutionByInput(const ConvolutionShape& shape,
                                                      int64_t count) {
  return Split(shape, count, &ConvolutionShape::input, InputRows);
}

}  // namespace tessera

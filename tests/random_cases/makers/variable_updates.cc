#include "tests/random_cases/makers/variable_updates.h"

#include <algorithm>

namespace tessera {

UpdateRows DrawUpdateRows(Random& random, const Shape& shape) {
  Shape batch;
  for (int64_t rank = random.Below(3); rank > 0; --rank) batch.AddDim(random.Below(4));
  if (shape.dim(0) == 0) batch = Shape{0};
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < batch.num_elements(); ++i) indices.push_back(random.Below(shape.dim(0)));
  UpdateRows rows = {Tensor::Of(batch, absl::Span<const int64_t>(indices)), batch};
  for (int i = 1; i < shape.rank(); ++i) rows.updates.AddDim(shape.dim(i));
  return rows;
}

UpdateRows DrawUpdatePositions(Random& random, const Shape& shape) {
  const int depth = static_cast<int>(random.Between(1, shape.rank()));
  bool is_empty = false;
  for (int d = 0; d < depth; ++d) is_empty = is_empty || shape.dim(d) == 0;
  const int64_t count = is_empty ? 0 : random.Below(4);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) {
    for (int d = 0; d < depth; ++d) indices.push_back(random.Below(shape.dim(d)));
  }
  UpdateRows rows = {Tensor::Of(Shape{count, depth}, absl::Span<const int64_t>(indices)),
                     Shape{count}};
  for (int i = depth; i < shape.rank(); ++i) rows.updates.AddDim(shape.dim(i));
  return rows;
}

SliceSteps DrawSlice(Random& random, const Shape& shape) {
  const int rank = static_cast<int>(random.Below(shape.rank() + 1));
  std::vector<int64_t> begin, end, strides;
  int64_t begin_mask = 0, end_mask = 0, shrink_mask = 0;
  SliceSteps slice;
  for (int d = 0; d < shape.rank(); ++d) {
    const int64_t size = shape.dim(d);
    if (d >= rank) {
      slice.shape.AddDim(size);
      continue;
    }
    const int64_t way = size == 0 ? 3 : random.Below(4);
    if (way == 0) {  // one index, whose dimension goes
      begin.push_back(random.Below(size) - (random.Chance(0.3) ? size : 0));
      end.push_back(begin.back() + 1);
      strides.push_back(1);
      shrink_mask |= int64_t{1} << d;
    } else if (way == 1) {  // backwards through all
      begin.push_back(-1);
      end.push_back(-size - 1);
      strides.push_back(-1);
      slice.shape.AddDim(size);
    } else {
      const int64_t first = way == 3 ? 0 : random.Below(size);
      const int64_t stride = random.Between(1, 2);
      begin.push_back(first);
      end.push_back(size);
      strides.push_back(stride);
      if (first == 0 && random.Chance(0.5)) begin_mask |= int64_t{1} << d;
      if (random.Chance(0.5)) end_mask |= int64_t{1} << d;
      slice.shape.AddDim((size - first + stride - 1) / stride);
    }
  }
  slice.begin = Tensor::Vector(absl::Span<const int64_t>(begin));
  slice.end = Tensor::Vector(absl::Span<const int64_t>(end));
  slice.strides = Tensor::Vector(absl::Span<const int64_t>(strides));
  slice.masks = {
      {"begin_mask", begin_mask}, {"end_mask", end_mask}, {"shrink_axis_mask", shrink_mask}};
  return slice;
}

DType DrawIndexType(Random& random) { return random.Chance(0.6) ? DType::kInt32 : DType::kInt64; }

}  // namespace tessera

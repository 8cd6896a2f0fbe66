#include "serving/batching/batch_assembly.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

using Dims = absl::InlinedVector<int64_t, 6>;

bool IsMergeable(DType dtype) { return IsTriviallyCopyable(dtype) || dtype == DType::kString; }

// Stands for any trivially copyable type of this size.
template <size_t kSize>
using Element = std::array<std::byte, kSize>;

// Copies a block of `from` dimensions, all at most those of `to`, to the low corner of a block of
// `to` dimensions.
template <typename T>
void CopyBlock(const T* source, absl::Span<const int64_t> from, T* target,
               absl::Span<const int64_t> to) {
  if (from.empty()) {
    *target = *source;
    return;
  }
  if (from.size() == 1 || from.subspan(1) == to.subspan(1)) {
    int64_t count = 1;
    for (const int64_t dim : from) count *= dim;
    std::copy_n(source, count, target);
    return;
  }
  int64_t source_step = 1, target_step = 1;
  for (size_t i = 1; i < from.size(); ++i) {
    source_step *= from[i];
    target_step *= to[i];
  }
  for (int64_t i = 0; i < from[0]; ++i) {
    CopyBlock(source + i * source_step, from.subspan(1), target + i * target_step, to.subspan(1));
  }
}

template <typename T>
void CopyRows(const Tensor& source, int64_t begin, int64_t end, Tensor& target, int64_t target_row,
              int64_t target_row_elements) {
  const T* elements = reinterpret_cast<const T*>(source.raw());
  T* out = reinterpret_cast<T*>(target.mutable_raw()) + target_row * target_row_elements;
  const int64_t row_elements = source.num_elements() / source.dim(0);
  if (row_elements != target_row_elements ||
      source.shape().dims().subspan(1) != target.shape().dims().subspan(1)) {
    std::fill_n(out, (end - begin) * target_row_elements, elements[0]);
  }
  Dims from(source.shape().dims().begin(), source.shape().dims().end());
  Dims to(target.shape().dims().begin(), target.shape().dims().end());
  from[0] = to[0] = end - begin;
  CopyBlock(elements + begin * row_elements, absl::MakeConstSpan(from), out,
            absl::MakeConstSpan(to));
}

// Copies rows [begin, end) of `source` to `target`, from row `target_row` on.
void CopyRowsOfAnyType(const Tensor& source, int64_t begin, int64_t end, Tensor& target,
                       int64_t target_row) {
  const int64_t row_elements = target.num_elements() / target.dim(0);
  if (source.dtype() == DType::kString) {
    return CopyRows<std::string>(source, begin, end, target, target_row, row_elements);
  }
  switch (DTypeSize(source.dtype())) {
    case 1:
      return CopyRows<Element<1>>(source, begin, end, target, target_row, row_elements);
    case 2:
      return CopyRows<Element<2>>(source, begin, end, target, target_row, row_elements);
    case 4:
      return CopyRows<Element<4>>(source, begin, end, target, target_row, row_elements);
    case 8:
      return CopyRows<Element<8>>(source, begin, end, target, target_row, row_elements);
    default:
      return CopyRows<Element<16>>(source, begin, end, target, target_row, row_elements);
  }
}

// Returns the shape that holds all ranges: `rows` rows, and the largest size in each other
// dimension.
absl::StatusOr<Shape> MergedShape(absl::Span<const TensorRows> ranges, size_t index, int64_t rows) {
  Dims dims(ranges[0].tensors[index].rank(), 0);
  for (const TensorRows& range : ranges) {
    for (size_t i = 0; i < dims.size(); ++i) {
      dims[i] = std::max(dims[i], range.tensors[index].dim(static_cast<int>(i)));
    }
  }
  dims[0] = rows;
  return Shape::Make(dims);
}

}  // namespace

bool CanMerge(absl::Span<const Tensor> a, absl::Span<const Tensor> b, RowPadding padding) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype() != b[i].dtype() || !IsMergeable(a[i].dtype())) return false;
    if (a[i].rank() != b[i].rank()) return false;
    if (padding == RowPadding::kNone &&
        a[i].shape().dims().subspan(1) != b[i].shape().dims().subspan(1)) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<std::vector<Tensor>> MergeRows(absl::Span<const TensorRows> ranges,
                                              int64_t padded_rows) {
  std::vector<Tensor> merged(ranges[0].tensors.size());
  for (size_t i = 0; i < merged.size(); ++i) {
    ASSIGN_OR_RETURN(const Shape shape, MergedShape(ranges, i, padded_rows));
    ASSIGN_OR_RETURN(merged[i], Tensor::Allocate(ranges[0].tensors[i].dtype(), shape));
    if (shape.num_elements() == 0) continue;
    int64_t row = 0;
    for (const TensorRows& range : ranges) {
      CopyRowsOfAnyType(range.tensors[i], range.begin, range.end, merged[i], row);
      row += range.end - range.begin;
    }
    const TensorRows& last = ranges.back();
    for (; row < padded_rows; ++row) {
      CopyRowsOfAnyType(last.tensors[i], last.begin, last.begin + 1, merged[i], row);
    }
  }
  return merged;
}

absl::Status CheckOutputRows(absl::Span<const Tensor> outputs, int64_t rows) {
  for (const Tensor& output : outputs) {
    if (output.rank() == 0) {
      return absl::FailedPreconditionError("Batched output tensor has 0 dimensions");
    }
    if (output.dim(0) != rows) {
      return absl::FailedPreconditionError(
          "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes "
          "of the input tensors");
    }
  }
  return absl::OkStatus();
}

std::vector<Tensor> SliceRows(absl::Span<const Tensor> tensors, int64_t begin, int64_t end) {
  std::vector<Tensor> slices;
  slices.reserve(tensors.size());
  for (const Tensor& tensor : tensors) slices.push_back(tensor.Slice(begin, end));
  return slices;
}

}  // namespace tessera::serving

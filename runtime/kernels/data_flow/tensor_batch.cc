#include "runtime/kernels/data_flow/tensor_batch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// Copies `from` into `to`, whose dimensions are at least as large: `to` keeps what lies outside.
void CopyCorner(const Tensor& from, char* to, const Shape& to_shape) {
  const size_t size = DTypeSize(from.dtype());
  if (from.num_elements() == 0) return;
  if (from.rank() == 0) {
    CopyElements(from.dtype(), from.raw(), to, 1);
    return;
  }
  const int last = from.rank() - 1;
  const int64_t row = from.dim(last);
  for (int64_t i = 0; i < from.num_elements() / row; ++i) {
    int64_t rest = i, offset = 0, stride = to_shape.dim(last);
    for (int d = last - 1; d >= 0; --d) {
      offset += rest % from.dim(d) * stride;
      rest /= from.dim(d);
      stride *= to_shape.dim(d);
    }
    CopyElements(from.dtype(), from.raw() + i * row * size, to + offset * size, row);
  }
}

// The dimensions of each row of the result.
absl::StatusOr<std::vector<int64_t>> RowDims(const PartialShape& declared,
                                             absl::Span<const Tensor* const> tensors, bool pads) {
  std::vector<int64_t> dims;
  if (tensors.empty()) {
    for (int d = 0; d < declared.rank(); ++d) dims.push_back(std::max<int64_t>(declared.dim(d), 0));
    return dims;
  }
  const Shape& first = tensors[0]->shape();
  dims.assign(first.dims().begin(), first.dims().end());
  for (const Tensor* tensor : tensors) {
    const Shape& shape = tensor->shape();
    if (shape == first) continue;
    if (!pads || shape.rank() != first.rank()) {
      return absl::InvalidArgumentError(absl::StrCat("tensors of the shapes ", first.ToString(),
                                                     " and ", shape.ToString(),
                                                     " cannot be joined to a batch"));
    }
    for (int d = 0; d < shape.rank(); ++d) dims[d] = std::max(dims[d], shape.dim(d));
  }
  return dims;
}

}  // namespace

absl::StatusOr<Tensor> JoinTensors(DType dtype, const PartialShape& declared,
                                   absl::Span<const Tensor* const> tensors, bool pads,
                                   Allocator* allocator) {
  ASSIGN_OR_RETURN(std::vector<int64_t> dims, RowDims(declared, tensors, pads));
  ASSIGN_OR_RETURN(const Shape row, Shape::Make(dims));
  dims.insert(dims.begin(), static_cast<int64_t>(tensors.size()));
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor joined, Tensor::Zeros(dtype, shape, allocator));
  const size_t bytes = row.num_elements() * DTypeSize(dtype);
  char* to = joined.mutable_raw();
  for (const Tensor* tensor : tensors) {
    CopyCorner(*tensor, to, row);
    to += bytes;
  }
  return joined;
}

}  // namespace tessera

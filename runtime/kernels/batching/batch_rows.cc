#include "runtime/kernels/batching/batch_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {

absl::StatusOr<int64_t> NumRows(absl::Span<const Tensor> tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].rank() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Batching input tensors must have at least one dimension; input ", i, " is a scalar"));
    }
    if (tensors[i].dim(0) != tensors[0].dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Batching input tensors supplied in a given op invocation must have equal 0th-dimension "
          "size; input 0 has ",
          tensors[0].dim(0), ", input ", i, " has ", tensors[i].dim(0)));
    }
  }
  return tensors.empty() ? 0 : tensors[0].dim(0);
}

absl::StatusOr<Tensor> JoinRows(absl::Span<const Tensor> tensors, int64_t padding,
                                Allocator* allocator) {
  const Tensor& first = tensors.front();
  if (tensors.size() == 1 && padding == 0) return first;
  int64_t rows = padding;
  for (const Tensor& tensor : tensors) {
    if (tensor.dtype() != first.dtype() ||
        tensor.shape().dims().subspan(1) != first.shape().dims().subspan(1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("rows of ", first.shape().ToString(), " cannot be joined with those of ",
                       tensor.shape().ToString(),
                       ": dimensions after the first must agree in all requests of a batch"));
    }
    rows += tensor.dim(0);
  }
  if (padding > 0 && first.dim(0) == 0) {
    return absl::InvalidArgumentError(
        "Cannot use an empty tensor with zero rows as padding when batching");
  }
  std::vector<int64_t> dims(first.shape().dims().begin(), first.shape().dims().end());
  dims[0] = rows;
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor joined, Tensor::Allocate(first.dtype(), shape, allocator));
  if (joined.num_elements() == 0) return joined;
  const int64_t row_elements = joined.num_elements() / rows;
  const size_t row_bytes = row_elements * DTypeSize(first.dtype());
  char* to = joined.mutable_raw();
  for (const Tensor& tensor : tensors) {
    CopyElements(first.dtype(), tensor.raw(), to, tensor.num_elements());
    to += tensor.dim(0) * row_bytes;
  }
  for (int64_t i = 0; i < padding; ++i, to += row_bytes) {
    CopyElements(first.dtype(), first.raw(), to, row_elements);
  }
  return joined;
}

int64_t PaddedRows(absl::Span<const int64_t> allowed_sizes, int64_t rows) {
  const auto size = std::lower_bound(allowed_sizes.begin(), allowed_sizes.end(), rows);
  return size == allowed_sizes.end() ? rows : *size;
}

}  // namespace tessera

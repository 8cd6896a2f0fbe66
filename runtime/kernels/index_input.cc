#include "runtime/kernels/index_input.h"

#include "runtime/base/status.h"

namespace tessera {

absl::StatusOr<IndexVector> ReadIndexVector(const Tensor& tensor, absl::string_view name) {
  if (!IsInteger(tensor.dtype())) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be integers, are ", DTypeName(tensor.dtype())));
  }
  if (tensor.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a vector, has shape ", tensor.shape().ToString()));
  }
  return VisitIndexType(tensor.dtype(), [&]<typename Index>() {
    const auto values = tensor.flat<Index>();
    return IndexVector(values.begin(), values.end());
  });
}

absl::StatusOr<int64_t> ReadIndexScalar(const Tensor& tensor, absl::string_view name) {
  if (!IsInteger(tensor.dtype()) || tensor.num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must be one integer, is ",
                                                   DTypeName(tensor.dtype()), " of shape ",
                                                   tensor.shape().ToString()));
  }
  return VisitIndexType(tensor.dtype(), [&]<typename Index>() {
    return static_cast<int64_t>(tensor.scalar<Index>());
  });
}

absl::StatusOr<Shape> ReadShape(const Tensor& tensor, absl::string_view name) {
  ASSIGN_OR_RETURN(const IndexVector dims, ReadIndexVector(tensor, name));
  absl::StatusOr<Shape> shape = Shape::Make(dims);
  if (!shape.ok()) return Annotate(shape.status(), absl::StrCat(name, ": "));
  return shape;
}

absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank, absl::string_view name) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", axis, " is out of range [", -rank, ", ", rank, ")"));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<int> ReadAxis(const Tensor& tensor, int rank, absl::string_view name) {
  ASSIGN_OR_RETURN(const int64_t axis, ReadIndexScalar(tensor, name));
  return NormalizeAxis(axis, rank, name);
}

}  // namespace tessera

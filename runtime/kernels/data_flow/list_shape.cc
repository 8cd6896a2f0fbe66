#include "runtime/kernels/data_flow/list_shape.h"

#include "runtime/base/status.h"
#include "runtime/kernels/index_input.h"

namespace tessera {

absl::StatusOr<PartialShape> ReadElementShape(const Tensor& tensor) {
  ASSIGN_OR_RETURN(const IndexVector dims, ReadIndexVector(tensor, "element_shape"));
  if (tensor.rank() == 0) {
    if (dims[0] == -1) return PartialShape();
    return absl::InvalidArgumentError(
        absl::StrCat("a scalar element_shape must be -1 (unknown), is ", dims[0]));
  }
  for (int64_t dim : dims) {
    if (dim < -1) {
      return absl::InvalidArgumentError(
          absl::StrCat("element_shape must hold sizes or -1, holds ", dim));
    }
  }
  return PartialShape(absl::Span<const int64_t>(dims));
}

absl::StatusOr<Shape> FullElementShape(const TensorList& list, const PartialShape& hint) {
  ASSIGN_OR_RETURN(const PartialShape shape, list.InferShape(hint));
  if (!shape.IsFullyDefined()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the shape of an element without a value is only known as ", shape.ToString(),
                     ": set the list's element_shape"));
  }
  return shape.AsShape();
}

absl::Status CheckListDType(const TensorList& list, DType dtype) {
  if (list.element_dtype == dtype) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the list holds ", DTypeName(list.element_dtype),
                                                 ", the op expects ", DTypeName(dtype)));
}

}  // namespace tessera

// Shapes and dtypes that TensorList kernels check.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/kernels/tensor_list.h"

namespace tessera {

// An element shape as lists take it: a vector of dimensions with -1 for unknown ones, or the scalar
// -1 for an unknown rank. Errors: INVALID_ARGUMENT.
absl::StatusOr<PartialShape> ReadElementShape(const Tensor& tensor);

// The shape all elements have, from the list, its elements and `hint`.
// Errors: INVALID_ARGUMENT if it is not fully known, or clashes.
absl::StatusOr<Shape> FullElementShape(const TensorList& list, const PartialShape& hint);

// Errors: INVALID_ARGUMENT if the list holds another dtype.
absl::Status CheckListDType(const TensorList& list, DType dtype);

}  // namespace tessera

// Elements of tensors in the typed fields of an InferTensorContents.
#pragma once

#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "runtime/tensor/tensor.h"

namespace tessera::serving {

// Returns the elements, which must be in the field of the dtype and in no other, as many as the
// shape has. Errors: INVALID_ARGUMENT if they are not, for a number that the dtype cannot hold, for
// 16-bit floats, which have no field, and if there are no elements at all: an empty tensor is sent
// raw. RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> TensorFromTyped(DType dtype, const Shape& shape,
                                       const inference::InferTensorContents& contents);

}  // namespace tessera::serving

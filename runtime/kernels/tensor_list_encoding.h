// Tensor lists as they travel in protos.
//
// The bytes are, as varints: how many elements have no value, the index of each, the dtype, the
// maximum number of elements (-1: none); then a TensorShapeProto, the element shape. The elements
// that have a value follow as tensors, in order.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/tensor/encoded_variant.h"

namespace tessera {

class TensorList;

std::shared_ptr<const EncodedVariant> EncodeTensorList(const TensorList& list);
// Errors: INVALID_ARGUMENT if it is no list, or a damaged one.
absl::StatusOr<std::shared_ptr<const TensorList>> DecodeTensorList(const EncodedVariant& encoded);

}  // namespace tessera

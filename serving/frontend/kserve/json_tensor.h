// Elements of tensors as JSON of KServe's protocol.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "serving/frontend/json/json_document.h"
#include "serving/frontend/json/json_writer.h"

namespace tessera::serving {

// Reads `data`: a flat list of the elements, row by row, or lists nested as the shape says. BOOL is
// true or false, integers have no fraction, floats may be NaN or Infinity, BYTES are strings.
// Errors: INVALID_ARGUMENT for anything else, for another number of elements, for a number that the
// dtype cannot hold, and for 16-bit floats, which have no JSON form; RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> TensorFromJson(DType dtype, const Shape& shape, const JsonValue& data);

// Writes the elements as a flat list. Errors: INVALID_ARGUMENT for a dtype without a JSON form, and
// for strings that are no UTF-8; nothing was written then.
absl::Status WriteJsonElements(const Tensor& tensor, JsonWriter& json);

}  // namespace tessera::serving

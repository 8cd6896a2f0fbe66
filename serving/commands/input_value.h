// Values of inputs as they are written on a command line.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"

namespace tessera::serving {

// The tensor that `value` stands for:
//   [[1, 2], [3, 4]]      JSON, as the REST API takes it in columns; NaN and Infinity are numbers
//   "text"                a string; bytes are {"b64": "..."}
//   @values.json          a file with such a value
//   @values.npy           a file that numpy.save() wrote
// Errors: INVALID_ARGUMENT for what is no such value, has more behind it, or is not of type
// `dtype`; NOT_FOUND for a file that is not there; those of ParseNpy().
absl::StatusOr<Tensor> ReadInputValue(DType dtype, const std::string& value);

}  // namespace tessera::serving

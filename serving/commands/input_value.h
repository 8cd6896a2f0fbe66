// Reads the values of inputs on a command line.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "serving/commands/image_value.h"
#include "serving/servables/servable.h"

namespace tessera::serving {

// Returns the tensor that `value` describes:
//   [[1, 2], [3, 4]]      JSON, as in columns of the REST API; NaN and Infinity are numbers
//   "text"                a string; bytes are {"b64": "..."}
//   @values.json          a file with such a value
//   @values.npy           a file that numpy.save() wrote
//   @picture.jpg          a JPEG, PNG, GIF or BMP file, see ReadImage()
// Errors: INVALID_ARGUMENT if the value is none of these, has text after it, or does not fit the
// input; NOT_FOUND if there is no such file; those of ParseNpy() and ReadImage().
absl::StatusOr<Tensor> ReadInputValue(const TensorInfo& input, const std::string& value,
                                      const ImageOptions& image_options);

}  // namespace tessera::serving

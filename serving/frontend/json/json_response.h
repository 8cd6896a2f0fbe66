// Writes results and errors as JSON, byte for byte as TensorFlow Serving's REST API does.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serving/frontend/json/json_predict_request.h"
#include "serving/frontend/json/json_writer.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// These append to *out, which is unspecified if they fail.

// In rows, {"predictions": [...]}, element i belongs to instance i; if there are several outputs,
// it is an object of them by name. In columns, {"outputs": ...} is the tensor, or an object of
// tensors by name. Strings are JSON strings. They are {"b64": "..."} if the output's name ends in
// "_bytes", and where a string is no UTF-8, which JSON cannot hold. Errors: INVALID_ARGUMENT
// without outputs; for element types that have no JSON form (complex, quantized); in rows, for
// outputs without a first dimension or with different ones.
absl::Status AppendPredictResponse(PredictLayout layout, absl::Span<const NamedOutput> outputs,
                                   std::string* out);

// Writes {"results": [[["label", score], ...], ...]}. Errors: INVALID_ARGUMENT without examples.
absl::Status AppendClassifyResponse(const ClassifyResult& result, std::string* out);
// Writes {"results": [value, ...]}. Errors: INVALID_ARGUMENT without examples.
absl::Status AppendRegressResponse(const RegressResult& result, std::string* out);

// Writes a tensor as nested arrays. Strings are JSON strings, or {"b64": "..."} if `as_bytes` is
// set or they are no UTF-8. Errors: INVALID_ARGUMENT for an element type that has no JSON form.
absl::Status WriteJsonTensor(const Tensor& tensor, bool as_bytes, JsonWriter& json);

// Returns {"error": "message"}.
std::string JsonErrorBody(absl::string_view message);

}  // namespace tessera::serving

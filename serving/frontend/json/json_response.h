// Replies of the REST API: results and errors as JSON, to the byte what TensorFlow Serving answers.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serving/frontend/json/json_predict_request.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// All of these append to *out, and leave it in no particular state if they fail.

// {"predictions": [...]}: element i belongs to instance i; of several outputs, an object by name.
// {"outputs": ...}: the tensor, or an object of tensors by name.
// Strings are JSON strings, or {"b64": "..."} if the output's name ends in "_bytes".
// Errors: INVALID_ARGUMENT without outputs, for element types that have no JSON form (half,
// complex, ...), and, of rows, for outputs without or of different first dimensions.
absl::Status AppendPredictResponse(PredictLayout layout, absl::Span<const NamedOutput> outputs,
                                   std::string* out);

// {"results": [[["label", score], ...], ...]}. Errors: INVALID_ARGUMENT without examples.
absl::Status AppendClassifyResponse(const ClassifyResult& result, std::string* out);
// {"results": [value, ...]}. Errors: INVALID_ARGUMENT without examples.
absl::Status AppendRegressResponse(const RegressResult& result, std::string* out);

// {"error": "message"}.
std::string JsonErrorBody(absl::string_view message);

}  // namespace tessera::serving

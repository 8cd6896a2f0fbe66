// The REST API's replies about models: the states of their versions, and their signatures.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "serving/core/servable_id.h"
#include "serving/core/servable_state.h"

namespace tensorflow::serving {
class SignatureDefMap;
}  // namespace tensorflow::serving

namespace tessera::serving {

// These append a message of TensorFlow Serving to *out as protobuf prints JSON. Fields have the
// names of the .proto files, and those with their default value are printed, too. 64-bit integers
// are strings. Errors: INTERNAL if a message cannot be printed.

// Appends a GetModelStatusResponse.
absl::Status AppendModelStatus(absl::Span<const ServableState> states, std::string* out);
// Appends {"model_spec": ..., "metadata": {"signature_def": SIGNATURES}}.
absl::Status AppendModelMetadata(const ServableId& id,
                                 const tensorflow::serving::SignatureDefMap& signatures,
                                 std::string* out);

// Returns the models of a server with the states of their versions, in the words of
// GetModelStatusResponse:
//   {"models": [{"name": "m", "model_version_status": [{"version": "1", "state": "AVAILABLE",
//                "status": {"error_code": "OK", "error_message": ""}}]}]}
std::string JsonModelList(const std::map<std::string, std::vector<ServableState>>& models);

}  // namespace tessera::serving

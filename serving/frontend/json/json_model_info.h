// What the REST API tells of models: their versions' states, and their signatures.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tensorflow::serving {
class GetModelMetadataResponse;
class GetModelStatusResponse;
}  // namespace tensorflow::serving

namespace tessera::serving {

// The messages as protobuf prints JSON, fields by the names in their .proto files and also those
// that have their default; 64-bit integers are strings. Append to *out.
// Errors: INTERNAL if a message cannot be printed.
absl::Status AppendModelStatus(const tensorflow::serving::GetModelStatusResponse& response,
                               std::string* out);
// With the signatures in the place of the Any that holds them:
// {"model_spec": ..., "metadata": {"signature_def": {"signature_def": {"serving_default": ...}}}}
absl::Status AppendModelMetadata(const tensorflow::serving::GetModelMetadataResponse& response,
                                 std::string* out);

}  // namespace tessera::serving

// The REST API's replies about models: the states of their versions, and their signatures.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tensorflow::serving {
class GetModelMetadataResponse;
class GetModelStatusResponse;
}  // namespace tensorflow::serving

namespace tessera::serving {

// These append a message to *out as protobuf prints JSON. Fields have the names of the .proto
// files, and those with their default value are printed, too. 64-bit integers are strings. Errors:
// INTERNAL if a message cannot be printed.
absl::Status AppendModelStatus(const tensorflow::serving::GetModelStatusResponse& response,
                               std::string* out);
// Prints the signatures in place of the Any that holds them:
// {"model_spec": ..., "metadata": {"signature_def": {"signature_def": {"serving_default": ...}}}}
absl::Status AppendModelMetadata(const tensorflow::serving::GetModelMetadataResponse& response,
                                 std::string* out);

}  // namespace tessera::serving

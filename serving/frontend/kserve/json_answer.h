// The answers of KServe's protocol other than inferences as JSON, and the requests for them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "inference/grpc_service.pb.h"

namespace tessera::serving {

// Returns a message as JSON: fields have their names in the .proto file, numbers of all sizes are
// numbers, enumerations are names, and members that are not set are there unless they are messages.
// Maps are not supported.
std::string AnswerJson(const google::protobuf::Message& message);

// Returns the entries of an index as a list.
std::string AnswerJson(const inference::RepositoryIndexResponse& index);
// Return settings as an object of values by name.
std::string AnswerJson(const inference::TraceSettingResponse& settings);
std::string AnswerJson(const inference::LogSettingsResponse& settings);

// Returns the answer that a model is ready.
std::string ReadyModelJson(absl::string_view name);

// Read a body, which is an object, or empty for an object without members. Errors: INVALID_ARGUMENT
// if it is anything else, or for values of the wrong type.
absl::Status ReadRequest(absl::string_view body, inference::RepositoryIndexRequest* request);
absl::Status ReadRequest(absl::string_view body, inference::RepositoryModelLoadRequest* request);
absl::Status ReadRequest(absl::string_view body, inference::RepositoryModelUnloadRequest* request);
absl::Status ReadRequest(absl::string_view body, inference::TraceSettingRequest* request);
absl::Status ReadRequest(absl::string_view body, inference::LogSettingsRequest* request);

}  // namespace tessera::serving

// Reads the text proto files that flags name.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace tessera::serving {

// Parses the file at `path` into a message.
// Errors: NOT_FOUND "PATH; No such file or directory" and the like if the file cannot be read;
// INVALID_ARGUMENT "PATH; Invalid argument" if it is empty, and "Invalid protobuf file: 'PATH'" if
// it does not parse; the line and column are logged.
absl::Status ReadTextProto(const std::string& path, google::protobuf::Message* message);

}  // namespace tessera::serving

// Text proto files, as flags name them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace tessera::serving {

// Errors: NOT_FOUND "PATH; No such file or directory" and the like for a file that cannot be read;
// INVALID_ARGUMENT "PATH; Invalid argument" for one of zero bytes, and "Invalid protobuf file:
// 'PATH'" for one that does not parse, whose line and column are logged.
absl::Status ReadTextProto(const std::string& path, google::protobuf::Message* message);

}  // namespace tessera::serving

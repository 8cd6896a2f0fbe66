// Writes protocol buffers as JSON.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace tessera::serving {

// Returns a message as JSON, with the names that its fields have in the .proto file, and with the
// fields that have their default value. As always in the JSON of protocol buffers, a number of 64
// bits is a string. Errors: INTERNAL if a string in it is no UTF-8.
absl::StatusOr<std::string> MessageJson(const google::protobuf::Message& message,
                                        bool on_one_line = false);

}  // namespace tessera::serving

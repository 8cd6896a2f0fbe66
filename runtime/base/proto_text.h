// Parses protocol buffers in text form, from files that may hold anything.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace tessera {

// Parses `text` into *message, whose value is unspecified after an error. Nothing is logged.
// Errors: DATA_LOSS with the line and what is wrong there; also for messages that are nested deeper
// than binary files may nest them.
absl::Status ParseProtoText(const std::string& text, google::protobuf::Message* message);

}  // namespace tessera

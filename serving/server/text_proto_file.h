// Reads the text proto files that flags name.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "serving/server/config_report.h"

namespace tessera::serving {

// A syntax error, whose line and column count from 1.
struct TextProtoError {
  int line = 0;  // 0: there is no syntax error
  int column = 0;
  std::string message;  // without the place
};

// Parses the file at `path` into a message. If it does not parse, the first syntax error goes to
// *error; to the log if `error` is null.
// Errors: NOT_FOUND "PATH; No such file or directory" and the like if the file cannot be read;
// INVALID_ARGUMENT "PATH; Invalid argument" if it is empty, and "Invalid protobuf file: 'PATH'" if
// it does not parse.
absl::Status ReadTextProto(const std::string& path, google::protobuf::Message* message,
                           TextProtoError* error = nullptr);

// Reads the file that a flag names, and adds the error to a report if there is one, with the line
// of a syntax error. Returns whether the message was read.
bool ReadTextProtoOfFlag(const std::string& flag, const std::string& path,
                         google::protobuf::Message* message, ConfigReport* report);

// Returns the line of a field in the file, counted from 1. A key is a path, such as
// "model_config_list.config[1].base_path"; the line of the last part that is set counts. 0 if none
// is, or the file does not parse as a message of this type.
int LineOfTextProtoKey(const std::string& path, const google::protobuf::Message& type,
                       absl::string_view key);

}  // namespace tessera::serving

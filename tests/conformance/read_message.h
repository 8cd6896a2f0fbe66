// Reads files that hold one serialised protocol buffer.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace tessera {

// Errors: those of ReadFile(); DATA_LOSS if the bytes do not parse.
template <typename Message>
absl::StatusOr<Message> ReadMessage(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  Message message;
  if (!message.ParseFromString(bytes)) {
    return absl::DataLossError(absl::StrCat(path, " does not parse"));
  }
  return message;
}

}  // namespace tessera

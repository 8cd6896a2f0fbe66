// Finds fields of a configuration message that are set and have no effect.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace tessera::serving {

// Returns the fields that are set in a message and are not in `used`, by their paths, such as
// "gpu_options.allow_growth". `used` has such paths; a message field in it is used as a whole. A
// message without a field that is set counts as not set.
std::vector<std::string> UnusedFields(const google::protobuf::Message& message,
                                      const std::set<std::string>& used);

// Returns a line that tells of UnusedFields() and begins with `where`, such as a path; empty if
// there are none.
std::string UnusedFieldsWarning(const std::string& where, const google::protobuf::Message& message,
                                const std::set<std::string>& used);

}  // namespace tessera::serving

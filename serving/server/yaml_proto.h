// YAML -> protocol buffers: a mapping is a message, its keys are the fields' names.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace tessera::serving {

// Where a node stands, for messages: "config.yaml:14".
std::string YamlPlace(const std::string& file, const YAML::Node& node);

// The error for a key that is none: "FILE:LINE: unknown key 'K' in CONTEXT; did you mean 'N'?".
absl::Status UnknownYamlKey(const std::string& file, const YAML::Node& key,
                            const std::string& context, const std::vector<std::string>& known);

// Fills `message` from a mapping. Wrapped values (Int64Value) are written as plain ones, maps as
// mappings, enums by name, repeated fields as lists. `context` names the node in messages:
// "models[0]".
// Errors: INVALID_ARGUMENT with file and line, for unknown keys, keys set twice, two members of a
// oneof, and values that do not fit the field.
absl::Status YamlToProto(const std::string& file, const std::string& context,
                         const YAML::Node& node, google::protobuf::Message* message);

}  // namespace tessera::serving

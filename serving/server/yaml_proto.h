// Reads protocol buffers from YAML: a mapping is a message, and its keys are the names of fields.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace tessera::serving {

// Returns the position of a node for error messages: "config.yaml:14".
std::string YamlPlace(const std::string& file, const YAML::Node& node);

// Returns the error for an unknown key: "FILE:LINE: unknown key 'K' in CONTEXT; did you mean 'N'?".
absl::Status UnknownYamlKey(const std::string& file, const YAML::Node& key,
                            const std::string& context, const std::vector<std::string>& known);

// Fills `message` from a mapping. In YAML, wrapped values (Int64Value) are plain values, maps are
// mappings, enums are names, and repeated fields are lists. `context` names the node in error
// messages: "models[0]". `other_keys` may stand in the mapping as well; the caller reads these.
// Errors: INVALID_ARGUMENT with file and line, for unknown keys, keys set twice, two members of a
// oneof, and values that do not fit the field.
absl::Status YamlToProto(const std::string& file, const std::string& context,
                         const YAML::Node& node, google::protobuf::Message* message,
                         const std::vector<std::string>& other_keys = {});

}  // namespace tessera::serving

// Reads protocol buffers from YAML: a mapping is a message, and its keys are the names of fields.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "serving/server/config_report.h"

namespace tessera::serving {

// Returns the position of a node for error messages: "config.yaml:14".
std::string YamlPlace(const std::string& file, const YAML::Node& node);

// Adds the error "FILE:LINE: MESSAGE" about a node. `key` is the path of the setting.
void AddYamlError(const std::string& file, const YAML::Node& node, std::string key,
                  absl::string_view message, ConfigReport* report);

// Returns the first of the documents of a file, null if there is none. Adds an error if another one
// follows, because nobody would read its settings.
YAML::Node OnlyDocument(const std::string& file, const std::vector<YAML::Node>& documents,
                        ConfigReport* report);

// Adds the error for an unknown key: "FILE:LINE: unknown key 'K' in CONTEXT; did you mean 'N'?".
void AddUnknownYamlKey(const std::string& file, const YAML::Node& key, const std::string& context,
                       const std::vector<std::string>& known, ConfigReport* report);

// Fills `message` from a mapping. In YAML, wrapped values (Int64Value) are plain values, maps are
// mappings, enums are names, and repeated fields are lists. `context` names the node in error
// messages: "models[0]". `other_keys` may stand in the mapping as well; the caller reads these.
// Adds an error, INVALID_ARGUMENT with file and line, for each unknown key, key set twice, second
// member of a oneof, and value that does not fit its field.
void YamlToProto(const std::string& file, const std::string& context, const YAML::Node& node,
                 google::protobuf::Message* message, const std::vector<std::string>& other_keys,
                 ConfigReport* report);

}  // namespace tessera::serving

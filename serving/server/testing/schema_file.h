// SchemaFile: a JSON schema of config/, held against YAML texts and against the messages that the
// program reads from them.
#pragma once

#include <yaml-cpp/yaml.h>

#include <set>
#include <string>

#include "google/protobuf/descriptor.h"
#include "rapidjson/document.h"

namespace tessera::serving {

// Failed checks are failures of the running test. Not thread-safe.
class SchemaFile {
 public:
  using Json = rapidjson::Value;
  using Names = std::set<std::string>;

  // Reads the schema. Fields whose names are in `refused` need not be in it.
  explicit SchemaFile(const std::string& path, Names refused = {});

  const Json& json() const { return schema_; }
  // Returns what a "$ref" stands for; other values are themselves.
  const Json& Resolve(const Json& value) const;
  const Json& Property(const char* name) const { return Resolve(schema_["properties"][name]); }
  // Returns "" if the YAML text is as the schema says, else which of its rules is broken.
  std::string Broken(const std::string& yaml) const;
  // Checks that an object's properties are the fields of the message, and `others`.
  void CheckMessage(const Json& object, const google::protobuf::Descriptor& message,
                    const Names& others = {}) const;
  static Names NamesOf(const Json& properties);

 private:
  void CheckField(const Json& value, const google::protobuf::FieldDescriptor& field) const;
  void CheckValue(const Json& value, const google::protobuf::FieldDescriptor& field) const;

  const Names refused_;
  rapidjson::Document schema_;
};

}  // namespace tessera::serving

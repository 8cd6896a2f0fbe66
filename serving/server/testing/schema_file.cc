#include "serving/server/testing/schema_file.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "gtest/gtest.h"
#include "rapidjson/schema.h"
#include "rapidjson/stringbuffer.h"
#include "runtime/base/file_system.h"

namespace tessera::serving {
namespace {

using google::protobuf::FieldDescriptor;
using Json = SchemaFile::Json;

Json FromYaml(const YAML::Node& node, rapidjson::Document& owner) {
  auto& allocator = owner.GetAllocator();
  Json json;
  if (node.IsMap()) {
    json.SetObject();
    for (const auto& item : node) {
      json.AddMember(Json(item.first.Scalar().c_str(), allocator), FromYaml(item.second, owner),
                     allocator);
    }
  } else if (node.IsSequence()) {
    json.SetArray();
    for (const auto& item : node) json.PushBack(FromYaml(item, owner), allocator);
  } else if (node.IsScalar()) {
    bool truth;
    int64_t integer;
    double real;
    if (absl::SimpleAtoi(node.Scalar(), &integer)) {
      json.SetInt64(integer);
    } else if (absl::SimpleAtod(node.Scalar(), &real)) {
      json.SetDouble(real);
    } else if (YAML::convert<bool>::decode(node, truth)) {
      json.SetBool(truth);
    } else {
      json.SetString(node.Scalar().c_str(), allocator);
    }
  }
  return json;
}

}  // namespace

SchemaFile::SchemaFile(const std::string& path, Names refused) : refused_(std::move(refused)) {
  schema_.Parse(ReadFile(path)->c_str());
  EXPECT_FALSE(schema_.HasParseError()) << "at byte " << schema_.GetErrorOffset();
}

SchemaFile::Names SchemaFile::NamesOf(const Json& properties) {
  Names names;
  for (const auto& member : properties.GetObject()) names.insert(member.name.GetString());
  return names;
}

const SchemaFile::Json& SchemaFile::Resolve(const Json& value) const {
  if (!value.HasMember("$ref")) return value;
  const std::string name = value["$ref"].GetString();
  const std::string prefix = "#/definitions/";
  EXPECT_TRUE(absl::StartsWith(name, prefix)) << name;
  return schema_["definitions"][name.substr(prefix.size()).c_str()];
}

std::string SchemaFile::Broken(const std::string& yaml) const {
  rapidjson::Document owner;
  const Json json = FromYaml(YAML::Load(yaml), owner);
  const rapidjson::SchemaDocument rules(schema_);
  rapidjson::SchemaValidator validator(rules);
  return json.Accept(validator) ? "" : validator.GetInvalidSchemaKeyword();
}

void SchemaFile::CheckMessage(const Json& object, const google::protobuf::Descriptor& message,
                              const Names& others) const {
  ASSERT_TRUE(object.HasMember("properties")) << message.full_name();
  EXPECT_FALSE(object["additionalProperties"].GetBool()) << message.full_name();
  Names fields = others;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (refused_.contains(field.name())) continue;
    fields.insert(field.name());
    ASSERT_TRUE(object["properties"].HasMember(field.name().c_str())) << field.full_name();
    CheckField(Resolve(object["properties"][field.name().c_str()]), field);
  }
  EXPECT_EQ(NamesOf(object["properties"]), fields) << message.full_name();
}

void SchemaFile::CheckField(const Json& value, const FieldDescriptor& field) const {
  if (field.is_map()) {
    EXPECT_STREQ(value["type"].GetString(), "object") << field.full_name();
    return CheckValue(value["additionalProperties"], *field.message_type()->field(1));
  }
  if (!field.is_repeated()) return CheckValue(value, field);
  EXPECT_STREQ(value["type"].GetString(), "array") << field.full_name();
  CheckValue(Resolve(value["items"]), field);
}

void SchemaFile::CheckValue(const Json& value, const FieldDescriptor& field) const {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (absl::StartsWith(field.message_type()->full_name(), "google.protobuf.")) {
        return CheckValue(value, *field.message_type()->field(0));  // Int64Value is written as 5
      }
      return CheckMessage(value, *field.message_type());
    case FieldDescriptor::CPPTYPE_ENUM:
      EXPECT_EQ(value["enum"].Size(), field.enum_type()->value_count()) << field.full_name();
      return;
    case FieldDescriptor::CPPTYPE_BOOL:
      EXPECT_STREQ(value["type"].GetString(), "boolean") << field.full_name();
      return;
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.name() == "model_platform") return;  // its one value
      EXPECT_STREQ(value["type"].GetString(), "string") << field.full_name();
      return;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      EXPECT_STREQ(value["type"].GetString(), "number") << field.full_name();
      return;
    default:
      EXPECT_STREQ(value["type"].GetString(), "integer") << field.full_name();
  }
}

}  // namespace tessera::serving

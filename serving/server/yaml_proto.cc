#include "serving/server/yaml_proto.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "runtime/base/nearest_name.h"

namespace tessera::serving {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Fills the fields of one message.
class Converter {
 public:
  Converter(const std::string& file, std::string context, ConfigReport* report)
      : file_(file), context_(std::move(context)), report_(report) {}

  void Fill(const YAML::Node& node, Message* message,
            const std::vector<std::string>& other_keys = {}) {
    if (!node.IsMap()) return Error(node, context_, absl::StrCat(context_, " must be a mapping"));
    const auto* descriptor = message->GetDescriptor();
    std::set<std::string> seen;
    for (const auto& item : node) {
      const std::string key = item.first.Scalar();
      const FieldDescriptor* field = descriptor->FindFieldByName(key);
      const bool is_other =
          std::find(other_keys.begin(), other_keys.end(), key) != other_keys.end();
      if (field == nullptr && !is_other) {
        std::vector<std::string> known = other_keys;
        for (int i = 0; i < descriptor->field_count(); ++i) {
          known.push_back(descriptor->field(i)->name());
        }
        AddUnknownYamlKey(file_, item.first, context_, known, report_);
        continue;
      }
      if (!seen.insert(key).second) {
        Error(item.first, absl::StrCat(context_, ".", key),
              absl::StrCat("key '", key, "' stands twice in ", context_));
        continue;
      }
      if (is_other) continue;
      const auto* oneof = field->real_containing_oneof();
      if (oneof != nullptr && message->GetReflection()->HasOneof(*message, oneof)) {
        Error(item.first, Name(field),
              absl::StrCat("only one of the keys of '", oneof->name(), "' may stand in ", context_,
                           "; '", key, "' is the second"));
        continue;
      }
      // `all:` alone is an empty message. The parser places a missing value at whatever follows it.
      if (item.second.IsNull() && !IsBlock(*field)) {
        Error(item.first, Name(field), absl::StrCat(Name(field), " has no value"));
        continue;
      }
      FillField(item.second, field, message);
    }
  }

 private:
  // Whether the values of a field are mappings.
  static bool IsBlock(const FieldDescriptor& field) {
    return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_repeated() &&
           !IsWrapper(*field.message_type());
  }

  // Whether the message stands for the one value that it holds.
  static bool IsWrapper(const google::protobuf::Descriptor& message) {
    return absl::StartsWith(message.full_name(), "google.protobuf.") && message.field_count() == 1;
  }

  void FillField(const YAML::Node& node, const FieldDescriptor* field, Message* message) {
    if (field->is_map()) return FillMap(node, field, message);
    if (!field->is_repeated()) return FillValue(node, field, message, Name(field));
    if (!node.IsSequence()) {
      return Error(node, Name(field), absl::StrCat(Name(field), " must be a list"));
    }
    for (size_t i = 0; i < node.size(); ++i) {
      FillValue(node[i], field, message, absl::StrCat(Name(field), "[", i, "]"));
    }
  }

  void FillMap(const YAML::Node& node, const FieldDescriptor* field, Message* message) {
    if (!node.IsMap()) {
      return Error(node, Name(field), absl::StrCat(Name(field), " must be a mapping"));
    }
    std::set<std::string> seen;
    for (const auto& item : node) {
      const std::string name = absl::StrCat(Name(field), ".", item.first.Scalar());
      if (!seen.insert(item.first.Scalar()).second) {
        Error(item.first, name,
              absl::StrCat("key '", item.first.Scalar(), "' stands twice in ", Name(field)));
        continue;
      }
      Message* entry = message->GetReflection()->AddMessage(message, field);
      const auto* type = field->message_type();
      FillValue(item.first, type->FindFieldByNumber(1), entry, name);
      if (item.second.IsNull()) {
        Error(item.first, name, absl::StrCat(name, " has no value"));
        continue;
      }
      FillValue(item.second, type->FindFieldByNumber(2), entry, name);
    }
  }

  // Sets a field, or adds an element to a repeated one.
  void FillValue(const YAML::Node& node, const FieldDescriptor* field, Message* message,
                 const std::string& name) {
    const Reflection* reflection = message->GetReflection();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Message* child = field->is_repeated() ? reflection->AddMessage(message, field)
                                            : reflection->MutableMessage(message, field);
      if (IsWrapper(*child->GetDescriptor())) {
        return FillValue(node, child->GetDescriptor()->field(0), child, name);
      }
      if (node.IsNull()) return;
      return Converter(file_, name, report_).Fill(node, child);
    }
    if (!node.IsScalar()) return Error(node, name, absl::StrCat(name, " must be a single value"));
    const std::string& text = node.Scalar();
    bool fits = false;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL: {
        bool value;
        fits = YAML::convert<bool>::decode(node, value);
        if (fits) Put(reflection, message, field, value);
        break;
      }
      case FieldDescriptor::CPPTYPE_INT32:
        fits = PutInt<int32_t>(text, reflection, message, field);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        fits = PutInt<int64_t>(text, reflection, message, field);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        fits = PutInt<uint32_t>(text, reflection, message, field);
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        fits = PutInt<uint64_t>(text, reflection, message, field);
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE: {
        double value;
        fits = absl::SimpleAtod(text, &value);
        if (fits) Put(reflection, message, field, value);
        break;
      }
      case FieldDescriptor::CPPTYPE_FLOAT: {
        float value;
        fits = absl::SimpleAtof(text, &value);
        if (fits) Put(reflection, message, field, value);
        break;
      }
      case FieldDescriptor::CPPTYPE_STRING:
        fits = true;
        Put(reflection, message, field, text);
        break;
      case FieldDescriptor::CPPTYPE_ENUM: {
        const auto* value = field->enum_type()->FindValueByName(text);
        fits = value != nullptr;
        if (fits) {
          field->is_repeated() ? reflection->AddEnum(message, field, value)
                               : reflection->SetEnum(message, field, value);
        }
        break;
      }
      case FieldDescriptor::CPPTYPE_MESSAGE:
        break;
    }
    if (fits) return;
    Error(node, name,
          absl::StrCat(name, " must be of type ", field->cpp_type_name(), "; '", text, "' is not"));
  }

  template <typename Int>
  static bool PutInt(const std::string& text, const Reflection* reflection, Message* message,
                     const FieldDescriptor* field) {
    Int value;
    if (!absl::SimpleAtoi(text, &value)) return false;
    Put(reflection, message, field, value);
    return true;
  }

#define TESSERA_PUT(TYPE, NAME)                                                                 \
  static void Put(const Reflection* reflection, Message* message, const FieldDescriptor* field, \
                  TYPE value) {                                                                 \
    field->is_repeated() ? reflection->Add##NAME(message, field, value)                         \
                         : reflection->Set##NAME(message, field, value);                        \
  }
  TESSERA_PUT(bool, Bool)
  TESSERA_PUT(int32_t, Int32)
  TESSERA_PUT(int64_t, Int64)
  TESSERA_PUT(uint32_t, UInt32)
  TESSERA_PUT(uint64_t, UInt64)
  TESSERA_PUT(float, Float)
  TESSERA_PUT(double, Double)
  TESSERA_PUT(const std::string&, String)
#undef TESSERA_PUT

  std::string Name(const FieldDescriptor* field) const {
    return absl::StrCat(context_, ".", field->name());
  }
  void Error(const YAML::Node& node, std::string key, absl::string_view message) const {
    AddYamlError(file_, node, std::move(key), message, report_);
  }

  const std::string& file_;
  const std::string context_;
  ConfigReport* const report_;
};

}  // namespace

std::string YamlPlace(const std::string& file, const YAML::Node& node) {
  return absl::StrCat(file, ":", node.Mark().line + 1);
}

void AddYamlError(const std::string& file, const YAML::Node& node, std::string key,
                  absl::string_view message, ConfigReport* report) {
  report->Add({file, node.Mark().line + 1, std::move(key)},
              absl::InvalidArgumentError(absl::StrCat(YamlPlace(file, node), ": ", message)));
}

YAML::Node OnlyDocument(const std::string& file, const std::vector<YAML::Node>& documents,
                        ConfigReport* report) {
  for (size_t i = 1; i < documents.size(); ++i) {
    if (documents[i].IsNull()) continue;
    AddYamlError(file, documents[i], "", "another document begins here; a file has one", report);
    break;
  }
  return documents.empty() ? YAML::Node() : documents[0];
}

void AddUnknownYamlKey(const std::string& file, const YAML::Node& key, const std::string& context,
                       const std::vector<std::string>& known, ConfigReport* report) {
  const std::string name = key.Scalar();
  AddYamlError(file, key, name,
               absl::StrCat("unknown key '", name, "' in ", context, DidYouMean(name, known)),
               report);
}

void YamlToProto(const std::string& file, const std::string& context, const YAML::Node& node,
                 Message* message, const std::vector<std::string>& other_keys,
                 ConfigReport* report) {
  Converter(file, context, report).Fill(node, message, other_keys);
}

}  // namespace tessera::serving

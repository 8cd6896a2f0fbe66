#include "serving/frontend/kserve/json_answer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/json/json_document.h"
#include "serving/frontend/json/json_writer.h"

namespace tessera::serving {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void WriteMessage(const Message& message, JsonWriter& json);

// Writes one value of a field; `index` is -1 for a field that is not repeated.
void WriteField(const Message& message, const FieldDescriptor* field, int index, JsonWriter& json) {
  const google::protobuf::Reflection& get = *message.GetReflection();
  const bool repeated = index >= 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return json.Bool(repeated ? get.GetRepeatedBool(message, field, index)
                                : get.GetBool(message, field));
    case FieldDescriptor::CPPTYPE_INT32:
      return json.Number(repeated ? get.GetRepeatedInt32(message, field, index)
                                  : get.GetInt32(message, field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return json.Number(repeated ? get.GetRepeatedUInt32(message, field, index)
                                  : get.GetUInt32(message, field));
    case FieldDescriptor::CPPTYPE_INT64:
      return json.Number(repeated ? get.GetRepeatedInt64(message, field, index)
                                  : get.GetInt64(message, field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return json.Number(repeated ? get.GetRepeatedUInt64(message, field, index)
                                  : get.GetUInt64(message, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return json.Number(repeated ? get.GetRepeatedFloat(message, field, index)
                                  : get.GetFloat(message, field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return json.Number(repeated ? get.GetRepeatedDouble(message, field, index)
                                  : get.GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return json.String(repeated ? get.GetRepeatedEnum(message, field, index)->name()
                                  : get.GetEnum(message, field)->name());
    case FieldDescriptor::CPPTYPE_STRING:
      return json.String(repeated ? get.GetRepeatedString(message, field, index)
                                  : get.GetString(message, field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return WriteMessage(
          repeated ? get.GetRepeatedMessage(message, field, index) : get.GetMessage(message, field),
          json);
  }
}

void WriteList(const Message& message, const FieldDescriptor* field, JsonWriter& json) {
  const bool of_messages = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  json.set_arrays_on_one_line(!of_messages);
  json.StartArray();
  const int size = message.GetReflection()->FieldSize(message, field);
  for (int i = 0; i < size; ++i) WriteField(message, field, i, json);
  json.set_arrays_on_one_line(!of_messages);
  json.EndArray();
}

void WriteMessage(const Message& message, JsonWriter& json) {
  json.StartObject();
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    const bool is_absent = field->is_map() || (field->has_presence() &&
                                               !message.GetReflection()->HasField(message, field));
    if (is_absent) continue;
    json.Key(field->name());
    field->is_repeated() ? WriteList(message, field, json) : WriteField(message, field, -1, json);
  }
  json.EndObject();
}

// Reads an object from a body into `document`.
absl::Status ReadObject(absl::string_view body, JsonDocument* document) {
  if (body.empty()) {
    document->SetObject();
    return absl::OkStatus();
  }
  return ParseJsonObject(body, document, JsonDialect::kExact);
}

absl::Status WrongValue(absl::string_view name, const JsonValue& value) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' cannot have the value ", QuoteJson(value)));
}

// Notes the names of parameters; their values do not matter.
template <typename Request>
absl::Status ReadParameterNames(absl::string_view body, Request* request) {
  JsonDocument document;
  RETURN_IF_ERROR(ReadObject(body, &document));
  const JsonValue* parameters = FindMember(document, "parameters");
  if (parameters == nullptr) return absl::OkStatus();
  if (!parameters->IsObject()) return WrongValue("parameters", *parameters);
  for (const auto& member : parameters->GetObject()) {
    (*request->mutable_parameters())[std::string(TextOf(member.name))];
  }
  return absl::OkStatus();
}

// Calls read(name, value) for each member of a body.
template <typename Read>
absl::Status ForEachMember(absl::string_view body, Read read) {
  JsonDocument document;
  RETURN_IF_ERROR(ReadObject(body, &document));
  for (const auto& member : document.GetObject()) {
    RETURN_IF_ERROR(read(std::string(TextOf(member.name)), member.value));
  }
  return absl::OkStatus();
}

}  // namespace

std::string AnswerJson(const Message& message) {
  std::string text;
  JsonWriter json(&text);
  WriteMessage(message, json);
  return text;
}

std::string AnswerJson(const inference::RepositoryIndexResponse& index) {
  std::string text;
  JsonWriter json(&text);
  json.StartArray();
  for (const auto& model : index.models()) WriteMessage(model, json);
  json.EndArray();
  return text;
}

std::string ReadyModelJson(absl::string_view name) {
  std::string text;
  JsonWriter json(&text);
  json.StartObject();
  json.Key("name");
  json.String(name);
  json.Key("ready");
  json.Bool(true);
  json.EndObject();
  return text;
}

std::string AnswerJson(const inference::TraceSettingResponse& settings) {
  std::string text;
  JsonWriter json(&text);
  json.set_arrays_on_one_line(true);
  json.StartObject();
  for (const auto& [name, setting] : settings.settings()) {
    json.Key(name);
    json.StartArray();
    for (const std::string& value : setting.value()) json.String(value);
    json.EndArray();
  }
  json.EndObject();
  return text;
}

std::string AnswerJson(const inference::LogSettingsResponse& settings) {
  std::string text;
  JsonWriter json(&text);
  json.StartObject();
  for (const auto& [name, setting] : settings.settings()) {
    json.Key(name);
    if (setting.has_bool_param()) {
      json.Bool(setting.bool_param());
    } else if (setting.has_uint32_param()) {
      json.Number(setting.uint32_param());
    } else {
      json.String(setting.string_param());
    }
  }
  json.EndObject();
  return text;
}

absl::Status ReadRequest(absl::string_view body, inference::RepositoryIndexRequest* request) {
  JsonDocument document;
  RETURN_IF_ERROR(ReadObject(body, &document));
  const JsonValue* ready = FindMember(document, "ready");
  if (ready == nullptr) return absl::OkStatus();
  if (!ready->IsBool()) return WrongValue("ready", *ready);
  request->set_ready(ready->GetBool());
  return absl::OkStatus();
}

absl::Status ReadRequest(absl::string_view body, inference::RepositoryModelLoadRequest* request) {
  return ReadParameterNames(body, request);
}

absl::Status ReadRequest(absl::string_view body, inference::RepositoryModelUnloadRequest* request) {
  return ReadParameterNames(body, request);
}

absl::Status ReadRequest(absl::string_view body, inference::TraceSettingRequest* request) {
  return ForEachMember(body, [&](const std::string& name, const JsonValue& value) {
    auto& setting = (*request->mutable_settings())[name];
    if (value.IsString()) {
      setting.add_value(std::string(TextOf(value)));
      return absl::OkStatus();
    }
    if (!value.IsArray()) return WrongValue(name, value);
    for (const JsonValue& element : value.GetArray()) {
      if (!element.IsString()) return WrongValue(name, value);
      setting.add_value(std::string(TextOf(element)));
    }
    return absl::OkStatus();
  });
}

absl::Status ReadRequest(absl::string_view body, inference::LogSettingsRequest* request) {
  return ForEachMember(body, [&](const std::string& name, const JsonValue& value) {
    auto& setting = (*request->mutable_settings())[name];
    if (value.IsBool()) {
      setting.set_bool_param(value.GetBool());
    } else if (value.IsUint()) {
      setting.set_uint32_param(value.GetUint());
    } else if (value.IsString()) {
      setting.set_string_param(std::string(TextOf(value)));
    } else {
      return WrongValue(name, value);
    }
    return absl::OkStatus();
  });
}

}  // namespace tessera::serving

#include "serving/frontend/json/json_model_info.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/json/json_writer.h"
#include "serving/servables/serving_proto.h"
#include "tensorflow_serving/apis/get_model_metadata.pb.h"

namespace tessera::serving {
namespace {

absl::StatusOr<std::string> Print(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) {
    return absl::InternalError(
        absl::StrCat(message.GetTypeName(), " cannot be printed as JSON: ", status.ToString()));
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void WriteVersion(const ServableState& state, JsonWriter& json) {
  json.StartObject();
  json.Key("version");
  json.String(absl::StrCat(state.id.version));
  json.Key("state");
  json.String(StateName(state.state));
  json.Key("status");
  json.StartObject();
  json.Key("error_code");
  json.String(absl::StatusCodeToString(state.health.code()));
  json.Key("error_message");
  json.String(state.health.message());
  json.EndObject();
  json.EndObject();
}

}  // namespace

absl::Status AppendModelStatus(absl::Span<const ServableState> states, std::string* out) {
  tensorflow::serving::GetModelStatusResponse response;
  FillModelStatus(states, &response);
  ASSIGN_OR_RETURN(const std::string text, Print(response));
  absl::StrAppend(out, text, "\n");
  return absl::OkStatus();
}

absl::Status AppendModelMetadata(const ServableId& id,
                                 const tensorflow::serving::SignatureDefMap& signatures,
                                 std::string* out) {
  tensorflow::serving::ModelSpec model_spec;
  FillModelSpec(id, /*signature_name=*/"", &model_spec);
  ASSIGN_OR_RETURN(const std::string spec, Print(model_spec));
  ASSIGN_OR_RETURN(const std::string map, Print(signatures));
  absl::StrAppend(out, "{\n\"model_spec\": ", spec, ",\n\"metadata\": {\"signature_def\": ", map,
                  "}\n}\n");
  return absl::OkStatus();
}

std::string JsonModelList(const std::map<std::string, std::vector<ServableState>>& models) {
  std::string text;
  JsonWriter json(&text);
  json.StartObject();
  json.Key("models");
  json.StartArray();
  for (const auto& [name, states] : models) {
    json.StartObject();
    json.Key("name");
    json.String(name);
    json.Key("model_version_status");
    json.StartArray();
    for (const ServableState& state : states) WriteVersion(state, json);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return text;
}

}  // namespace tessera::serving

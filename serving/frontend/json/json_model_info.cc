#include "serving/frontend/json/json_model_info.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
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

}  // namespace tessera::serving

#include "serving/frontend/json/json_model_info.h"

#include <google/protobuf/util/json_util.h>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "tensorflow_serving/apis/get_model_metadata.pb.h"
#include "tensorflow_serving/apis/get_model_status.pb.h"

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

absl::Status AppendModelStatus(const tensorflow::serving::GetModelStatusResponse& response,
                               std::string* out) {
  ASSIGN_OR_RETURN(const std::string text, Print(response));
  absl::StrAppend(out, text, "\n");
  return absl::OkStatus();
}

absl::Status AppendModelMetadata(const tensorflow::serving::GetModelMetadataResponse& response,
                                 std::string* out) {
  constexpr char kSignatureDef[] = "signature_def";
  tensorflow::serving::SignatureDefMap signatures;
  const auto it = response.metadata().find(kSignatureDef);
  if (it == response.metadata().end() || !it->second.UnpackTo(&signatures)) {
    return absl::InternalError("the model's metadata hold no signatures");
  }
  ASSIGN_OR_RETURN(const std::string spec, Print(response.model_spec()));
  ASSIGN_OR_RETURN(const std::string map, Print(signatures));
  absl::StrAppend(out, "{\n\"model_spec\": ", spec, ",\n\"metadata\": {\"", kSignatureDef,
                  "\": ", map, "}\n}\n");
  return absl::OkStatus();
}

}  // namespace tessera::serving

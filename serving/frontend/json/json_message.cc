#include "serving/frontend/json/json_message.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"

namespace tessera::serving {

absl::StatusOr<std::string> MessageJson(const google::protobuf::Message& message,
                                        bool on_one_line) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = !on_one_line;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (status.ok()) return json;
  return absl::InternalError(absl::StrCat("a ", message.GetTypeName(),
                                          " has no JSON form: ", std::string(status.message())));
}

}  // namespace tessera::serving

#include "serving/server/unused_fields.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"

namespace tessera::serving {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void AddUnused(const Message& message, const std::string& prefix, const std::set<std::string>& used,
               std::vector<std::string>* unused) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(prefix, field->name());
    if (used.contains(path)) continue;
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      unused->push_back(path);
    } else {
      AddUnused(message.GetReflection()->GetMessage(message, field), path + ".", used, unused);
    }
  }
}

}  // namespace

std::vector<std::string> UnusedFields(const Message& message, const std::set<std::string>& used) {
  std::vector<std::string> unused;
  AddUnused(message, "", used, &unused);
  return unused;
}

std::string UnusedFieldsWarning(const std::string& where, const Message& message,
                                const std::set<std::string>& used) {
  const std::vector<std::string> unused = UnusedFields(message, used);
  if (unused.empty()) return "";
  return absl::StrCat(where, ": these settings have no effect: ", absl::StrJoin(unused, ", "));
}

}  // namespace tessera::serving

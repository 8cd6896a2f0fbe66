#include "runtime/training/job/hyper_parameters.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "tessera/training/job.pb.h"

namespace tessera {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Returns a single value; nothing for messages.
std::optional<HyperParameter> ValueOf(const Message& message, const FieldDescriptor* field) {
  const auto* const reflection = message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->GetBool(message, field);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(reflection->GetInt64(message, field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->GetDouble(message, field);
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection->GetString(message, field);
    default:
      return std::nullopt;
  }
}

void AddSettings(const std::string& path, const Message& message,
                 std::map<std::string, HyperParameter>* values) {
  std::vector<const FieldDescriptor*> fields;  // that are set
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated()) continue;
    if (auto value = ValueOf(message, field)) {
      (*values)[absl::StrCat(path, field->name())] = *std::move(value);
    }
  }
}

}  // namespace

std::map<std::string, HyperParameter> HyperParametersOf(const training::TrainingJob& job) {
  std::map<std::string, HyperParameter> values;
  AddSettings("", job, &values);
  // Where the job runs says nothing of its result.
  for (const char* key : {"folder", "resume", "threads"}) values.erase(key);
  const training::GraphSpec& graph = job.graph();
  AddSettings("graph.loss.", graph.loss(), &values);
  AddSettings("graph.optimizer.", graph.optimizer(), &values);
  AddSettings("graph.schedule.", graph.schedule(), &values);
  AddSettings("graph.clip.", graph.clip(), &values);
  return values;
}

}  // namespace tessera

#include "serving/commands/train_job_file.h"

#include <yaml-cpp/yaml.h>

#include <cctype>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "runtime/base/file_system.h"
#include "runtime/base/nearest_name.h"
#include "runtime/training/job/job_check.h"
#include "serving/server/yaml_merge.h"
#include "serving/server/yaml_proto.h"

namespace tessera::serving {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr char kContext[] = "job";

// One step of a path: "metrics[0]" is the name "metrics" and the index 0.
struct PathPart {
  std::string name;
  int64_t index = -1;  // negative: none
};

std::vector<PathPart> SplitPath(absl::string_view path) {
  std::vector<PathPart> parts;
  for (absl::string_view word : absl::StrSplit(path, '.')) {
    PathPart part;
    const size_t bracket = word.find('[');
    part.name = std::string(word.substr(0, bracket));
    if (bracket != word.npos && absl::ConsumeSuffix(&word, "]")) {
      if (!absl::SimpleAtoi(word.substr(bracket + 1), &part.index)) part.index = -1;
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

// Returns the line of the deepest node on the path that is in the file.
int LineOf(YAML::Node node, absl::string_view path) {
  int line = 0;
  for (const PathPart& part : SplitPath(path)) {
    if (!node.IsMap()) break;
    const YAML::Node root = node;
    bool is_found = false;
    for (const auto& item : root) {
      if (item.first.Scalar() != part.name) continue;
      line = item.first.Mark().line + 1;
      node.reset(item.second);
      is_found = true;
      break;
    }
    if (!is_found) break;
    if (part.index >= 0) {
      if (!node.IsSequence() || node.size() <= static_cast<size_t>(part.index)) break;
      node.reset(node[part.index]);
      line = node.Mark().line + 1;
    }
  }
  return line;
}

// Returns how many fields the path leads down from `descriptor`; 0 if it is no path of settings.
int DepthOf(const google::protobuf::Descriptor* descriptor, absl::string_view path) {
  int depth = 0;
  for (const PathPart& part : SplitPath(path)) {
    if (descriptor == nullptr) return 0;
    const FieldDescriptor* field = descriptor->FindFieldByName(part.name);
    if (field == nullptr) return 0;
    ++depth;
    if (field->is_map()) return depth;  // any key may follow
    descriptor = field->message_type();
  }
  return depth;
}

// Leaves out what a message quotes, such as 'images.tfrecord': names of the user's, which may look
// like settings. An apostrophe within a word quotes nothing.
std::string WithoutQuotes(absl::string_view message) {
  std::string text;
  while (!message.empty()) {
    const size_t open = message.find('\'');
    const size_t close = open == message.npos ? message.npos : message.find('\'', open + 1);
    const bool is_apostrophe = open != message.npos && open > 0 &&
                               absl::ascii_isalnum(static_cast<unsigned char>(message[open - 1]));
    if (is_apostrophe) {
      absl::StrAppend(&text, message.substr(0, open + 1));
      message.remove_prefix(open + 1);
    } else {
      absl::StrAppend(&text, message.substr(0, open));
      message.remove_prefix(close == message.npos ? message.size() : close + 1);
    }
  }
  return text;
}

// Returns the path of the setting that a message is about; empty if it names none. The blocks at
// its beginning, as in "data.train: fields[0]: ", are one path; of other paths the deepest counts.
std::string SettingNamedBy(absl::string_view message) {
  const auto* job = training::TrainingJob::descriptor();
  std::string named;
  int depth = 0;
  for (absl::string_view block : absl::StrSplit(message, ": ")) {
    const std::string path = named.empty() ? std::string(block) : absl::StrCat(named, ".", block);
    const int found = DepthOf(job, path);
    if (found <= depth) break;
    named = path;
    depth = found;
  }
  const std::string unquoted = WithoutQuotes(message);
  for (absl::string_view word : absl::StrSplit(unquoted, ' ')) {
    while (!word.empty() && absl::StrContains(".,:;", word.substr(word.size() - 1))) {
      word.remove_suffix(1);
    }
    const int found = DepthOf(job, word);
    if (found <= depth) continue;
    named = std::string(word);
    depth = found;
  }
  return named;
}

// Returns the key of the last setting of --set that gave `path` or a block around it; empty if the
// file did.
std::string SettingOver(absl::string_view path, absl::Span<const std::string> settings) {
  std::string over;
  for (const std::string& setting : settings) {
    const std::string key = setting.substr(0, setting.find('='));
    const bool is_within = absl::StartsWith(path, key + ".") || absl::StartsWith(path, key + "[");
    if (path == key || is_within) over = key;
  }
  return over;
}

// One setting of --set.
class Setting {
 public:
  Setting(std::string key, std::string value, ConfigReport* report)
      : key_(std::move(key)), value_(std::move(value)), report_(report) {}

  void Apply(Message* message) {
    YAML::Node value;
    try {
      value = YAML::Load(value_);
    } catch (const YAML::Exception& error) {
      return Error(absl::StrCat("the value is no YAML: ", error.msg));
    }
    std::string context = kContext;
    const std::vector<PathPart> parts = SplitPath(key_);
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const FieldDescriptor* field = Find(*message, parts[i], context);
      if (field == nullptr) return;
      absl::StrAppend(&context, ".", parts[i].name);
      if (value_.empty() && !IsSet(*message, field)) return;  // there is nothing to take out
      if (field->is_map() && i + 2 == parts.size()) {
        if (value_.empty()) return EraseEntry(parts[i + 1].name, field, message);
        YAML::Node entry;
        entry[parts[i + 1].name] = value;
        return Fill(context, field, entry, message);
      }
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) {
        return Error(absl::StrCat(context, " has no keys"));
      }
      const auto* reflection = message->GetReflection();
      if (!field->is_repeated()) {
        message = reflection->MutableMessage(message, field);
        continue;
      }
      const int size = reflection->FieldSize(*message, field);
      if (parts[i].index < 0 || parts[i].index >= size) {
        return Error(absl::StrCat(context, " is a list of ", size,
                                  "; name one of them: ", parts[i].name, "[0]"));
      }
      message =
          reflection->MutableRepeatedMessage(message, field, static_cast<int>(parts[i].index));
    }
    const FieldDescriptor* field = Find(*message, parts.back(), context);
    if (field == nullptr) return;
    if (parts.back().index >= 0) return RefuseElement(*field);
    if (value_.empty()) return message->GetReflection()->ClearField(message, field);
    if (const auto* oneof = field->real_containing_oneof()) {
      message->GetReflection()->ClearOneof(message, oneof);
    }
    message->GetReflection()->ClearField(message, field);
    Fill(context, field, value, message);
  }

 private:
  static bool IsSet(const Message& message, const FieldDescriptor* field) {
    const auto* reflection = message.GetReflection();
    return field->is_repeated() ? reflection->FieldSize(message, field) > 0
                                : reflection->HasField(message, field);
  }

  void RefuseElement(const FieldDescriptor& field) {
    const bool has_keys = field.is_repeated() && field.message_type() != nullptr;
    Error(has_keys ? absl::StrCat("set a key of the element, such as ", key_, ".",
                                  field.message_type()->field(0)->name(),
                                  "=VALUE, or the whole list: KEY=[A, B]")
                   : "a list is set as a whole: KEY=[A, B]");
  }

  // Takes the entry out of a map from strings. A key that is not there is no error.
  static void EraseEntry(const std::string& key, const FieldDescriptor* field, Message* message) {
    const auto* reflection = message->GetReflection();
    const auto* key_field = field->message_type()->map_key();
    const int size = reflection->FieldSize(*message, field);
    for (int i = 0; i < size; ++i) {
      const Message& entry = reflection->GetRepeatedMessage(*message, field, i);
      if (entry.GetReflection()->GetString(entry, key_field) != key) continue;
      reflection->SwapElements(message, field, i, size - 1);
      return reflection->RemoveLast(message, field);
    }
  }

  const FieldDescriptor* Find(const Message& message, const PathPart& part,
                              const std::string& context) {
    const auto* descriptor = message.GetDescriptor();
    const FieldDescriptor* field = descriptor->FindFieldByName(part.name);
    if (field != nullptr) return field;
    std::vector<std::string> known;
    for (int i = 0; i < descriptor->field_count(); ++i) {
      known.push_back(descriptor->field(i)->name());
    }
    Error(absl::StrCat("unknown key '", part.name, "' in ", context, DidYouMean(part.name, known)));
    return nullptr;
  }

  // Reads `value` into the field.
  void Fill(const std::string& context, const FieldDescriptor* field, const YAML::Node& value,
            Message* message) {
    YAML::Node mapping;
    mapping[field->name()] = value;
    ConfigReport report;
    // A map's context already ends with its name.
    const absl::string_view outer =
        field->is_map() ? absl::StripSuffix(context, absl::StrCat(".", field->name())) : context;
    YamlToProto("--set", std::string(outer), mapping, message, {}, &report);
    for (const ConfigFinding& finding : report.findings()) Error(finding.message);
  }

  void Error(absl::string_view message) {
    report_->Add({.key = absl::StrCat("set ", key_)},
                 absl::InvalidArgumentError(absl::StrCat("--set ", key_, ": ", message)),
                 std::string(message));
  }

  const std::string key_;
  const std::string value_;
  ConfigReport* const report_;
};

}  // namespace

void ReadTrainingJob(const std::string& path, absl::Span<const std::string> settings,
                     training::TrainingJob* job, ConfigReport* report) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return report->Add({.file = path}, text.status());
  YAML::Node node;
  try {
    node.reset(OnlyDocument(path, YAML::LoadAll(*text), report));
    ResolveYamlMerges(path, node, report);
  } catch (const YAML::Exception& error) {
    const int line = error.mark.line + 1;
    return report->Add({.file = path, .line = line},
                       absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", error.msg)));
  }
  YamlToProto(path, kContext, node, job, {}, report);
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == setting.npos || equals == 0) {
      const std::string message = "it must be KEY=VALUE, such as hooks.checkpoint.every_steps=10";
      report->Add({.key = "set " + setting},
                  absl::InvalidArgumentError(absl::StrCat("--set ", setting, ": ", message)),
                  message);
      continue;
    }
    Setting(setting.substr(0, equals), setting.substr(equals + 1), report).Apply(job);
  }
  // What a job lacks because its key was misspelt is no second error.
  if (!report->FirstError().ok()) return;
  for (const JobFinding& finding : CheckJob(*job)) {
    const absl::Status status =
        absl::InvalidArgumentError(absl::StrCat(path, ": ", finding.key, ": ", finding.message));
    const std::string over = SettingOver(finding.key, settings);
    if (!over.empty()) {
      // A setting of a whole block does not say which key of it is wrong.
      const std::string message =
          over == finding.key ? finding.message : absl::StrCat(finding.key, ": ", finding.message);
      report->Add({.key = "set " + over}, status, message);
    } else {
      report->Add({.file = path, .line = LineOf(node, finding.key), .key = finding.key}, status,
                  finding.message);
    }
  }
}

void AddJobError(const std::string& path, absl::Span<const std::string> settings,
                 const absl::Status& status, ConfigReport* report) {
  const std::string message(status.message());
  const std::string named = SettingNamedBy(message);
  const std::string over = SettingOver(named, settings);
  if (!over.empty()) return report->Add({.key = "set " + over}, status, message);
  ConfigPlace place{.file = path};
  // The file may have changed since it was read.
  if (const absl::StatusOr<std::string> text = ReadFile(path); text.ok()) {
    try {
      place.line = LineOf(YAML::Load(*text), named);
    } catch (const YAML::Exception&) {
    }
  }
  report->Add(std::move(place), status, message);
}

}  // namespace tessera::serving

#include "runtime/framework/device_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

// "*" leaves the part open.
absl::Status ParseNumber(absl::string_view text, std::optional<int>* part) {
  if (text == "*") return absl::OkStatus();
  int number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not a number"));
  }
  *part = number;
  return absl::OkStatus();
}

absl::Status ParsePart(absl::string_view part, DeviceName* name) {
  if (absl::ConsumePrefix(&part, "job:")) {
    if (part != "*") name->job = std::string(part);
    return absl::OkStatus();
  }
  if (absl::ConsumePrefix(&part, "replica:")) return ParseNumber(part, &name->replica);
  if (absl::ConsumePrefix(&part, "task:")) return ParseNumber(part, &name->task);
  // "device:CPU:0", or the short "cpu:0", "gpu".
  absl::ConsumePrefix(&part, "device:");
  std::pair<absl::string_view, absl::string_view> type_id =
      absl::StrSplit(part, absl::MaxSplits(':', 1));
  if (type_id.first.empty()) return absl::InvalidArgumentError("the device type is empty");
  if (type_id.first != "*") name->type = absl::AsciiStrToUpper(type_id.first);
  return type_id.second.empty() ? absl::OkStatus() : ParseNumber(type_id.second, &name->id);
}

template <typename T>
absl::Status MergePart(absl::string_view what, const std::optional<T>& from, std::optional<T>* to) {
  if (!from || *to == from) return absl::OkStatus();
  if (*to) {
    return absl::InvalidArgumentError(
        absl::StrCat("two device names ask for different ", what, "s: ", **to, " and ", *from));
  }
  *to = from;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DeviceName> DeviceName::Parse(absl::string_view text) {
  DeviceName name;
  for (absl::string_view part : absl::StrSplit(text, '/', absl::SkipEmpty())) {
    if (absl::Status s = ParsePart(part, &name); !s.ok()) {
      return Annotate(s, absl::StrCat("malformed device name '", text, "': "));
    }
  }
  return name;
}

std::string DeviceName::ToString() const {
  std::string text;
  if (job) absl::StrAppend(&text, "/job:", *job);
  if (replica) absl::StrAppend(&text, "/replica:", *replica);
  if (task) absl::StrAppend(&text, "/task:", *task);
  if (type || id) {
    absl::StrAppend(&text, "/device:", type.value_or("*"), ":");
    id ? absl::StrAppend(&text, *id) : absl::StrAppend(&text, "*");
  }
  return text;
}

bool DeviceName::Matches(const DeviceName& full) const {
  return (!job || job == full.job) && (!replica || replica == full.replica) &&
         (!task || task == full.task) && (!type || type == full.type) && (!id || id == full.id);
}

absl::Status DeviceName::MergeFrom(const DeviceName& other) {
  RETURN_IF_ERROR(MergePart("job", other.job, &job));
  RETURN_IF_ERROR(MergePart("replica", other.replica, &replica));
  RETURN_IF_ERROR(MergePart("task", other.task, &task));
  RETURN_IF_ERROR(MergePart("type", other.type, &type));
  return MergePart("id", other.id, &id);
}

void DeviceName::FillFrom(const DeviceName& other) {
  if (!job) job = other.job;
  if (!replica) replica = other.replica;
  if (!task) task = other.task;
  if (!type) type = other.type;
  if (!id) id = other.id;
}

}  // namespace tessera

#include "runtime/training/job/version_record.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "rapidjson/document.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

constexpr char kFolder[] = "assets.extra";
constexpr char kFile[] = "training.json";

std::string RecordPath(const std::string& version) {
  return JoinPath(JoinPath(version, kFolder), kFile);
}

}  // namespace

absl::Status WriteVersionRecord(const std::string& version, const VersionRecord& record) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
  writer.StartObject();
  writer.Key("run");
  writer.String(record.run.c_str());
  writer.Key("run_id");
  writer.String(record.run_id.c_str());
  writer.Key("step");
  writer.Int64(record.step);
  writer.Key("metrics");
  writer.StartObject();
  for (const auto& [name, value] : record.metrics) {
    if (!std::isfinite(value)) continue;
    writer.Key(name.c_str());
    writer.Double(value);
  }
  writer.EndObject();
  writer.EndObject();
  RETURN_IF_ERROR(CreateDirectories(JoinPath(version, kFolder)));
  return WriteFileAtomically(RecordPath(version), std::string(buffer.GetString()) + "\n");
}

std::optional<VersionRecord> ReadVersionRecord(const std::string& version) {
  const auto text = ReadFile(RecordPath(version));
  if (!text.ok()) return std::nullopt;
  rapidjson::Document json;
  json.Parse(text->data(), text->size());
  if (json.HasParseError() || !json.IsObject()) return std::nullopt;
  if (!json.HasMember("run") || !json["run"].IsString()) return std::nullopt;
  if (!json.HasMember("run_id") || !json["run_id"].IsString()) return std::nullopt;
  if (!json.HasMember("step") || !json["step"].IsInt64()) return std::nullopt;
  if (!json.HasMember("metrics") || !json["metrics"].IsObject()) return std::nullopt;
  VersionRecord record{.run = json["run"].GetString(),
                       .run_id = json["run_id"].GetString(),
                       .step = json["step"].GetInt64()};
  for (const auto& metric : json["metrics"].GetObject()) {
    if (metric.value.IsNumber()) {
      record.metrics[metric.name.GetString()] = metric.value.GetDouble();
    }
  }
  return record;
}

std::map<int64_t, std::string> ListVersions(const std::string& base_path) {
  std::map<int64_t, std::string> versions;
  const auto names = ListDirectory(base_path);
  if (!names.ok()) return versions;
  for (const std::string& name : *names) {
    int64_t number;
    if (!std::all_of(name.begin(), name.end(), absl::ascii_isdigit)) continue;
    if (absl::SimpleAtoi(name, &number)) versions[number] = JoinPath(base_path, name);
  }
  return versions;
}

}  // namespace tessera

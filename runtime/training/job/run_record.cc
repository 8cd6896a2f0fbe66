#include "runtime/training/job/run_record.h"

#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "rapidjson/document.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace tessera {

std::optional<double> RunRecord::Number(absl::string_view name) const {
  for (const auto& [key, value] : numbers) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string RunRecord::Text(absl::string_view name) const {
  for (const auto& [key, value] : texts) {
    if (key == name) return value;
  }
  return "";
}

std::string ToJson(const RunRecord& record) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  const auto text = [&](const std::string& value) {
    writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  writer.StartObject();
  writer.Key("event");
  text(record.event);
  writer.Key("step");
  writer.Int64(record.step);
  for (const auto& [key, value] : record.counts) {
    text(key);
    writer.Int64(value);
  }
  for (const auto& [key, value] : record.numbers) {
    text(key);
    if (std::isfinite(value)) {
      writer.Double(value);
    } else {
      text(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    }
  }
  for (const auto& [key, value] : record.texts) {
    text(key);
    text(value);
  }
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

std::optional<RunRecord> ParseRunRecord(absl::string_view line) {
  rapidjson::Document json;
  json.Parse(line.data(), line.size());
  if (json.HasParseError() || !json.IsObject()) return std::nullopt;
  const auto event = json.FindMember("event");
  const auto step = json.FindMember("step");
  if (event == json.MemberEnd() || !event->value.IsString()) return std::nullopt;
  if (step == json.MemberEnd() || !step->value.IsInt64()) return std::nullopt;
  RunRecord record;
  for (auto it = json.MemberBegin(); it != json.MemberEnd(); ++it) {
    const std::string key(it->name.GetString(), it->name.GetStringLength());
    if (it == event) {
      record.event.assign(it->value.GetString(), it->value.GetStringLength());
    } else if (it == step) {
      record.step = it->value.GetInt64();
    } else if (it->value.IsInt64()) {
      record.counts.emplace_back(key, it->value.GetInt64());
    } else if (it->value.IsNumber()) {
      record.numbers.emplace_back(key, it->value.GetDouble());
    } else if (it->value.IsString()) {
      const std::string value(it->value.GetString(), it->value.GetStringLength());
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      if (value == "NaN") {
        record.numbers.emplace_back(key, std::numeric_limits<double>::quiet_NaN());
      } else if (value == "Infinity" || value == "-Infinity") {
        record.numbers.emplace_back(key, value == "Infinity" ? kInfinity : -kInfinity);
      } else {
        record.texts.emplace_back(key, value);
      }
    } else {
      return std::nullopt;
    }
  }
  return record;
}

}  // namespace tessera

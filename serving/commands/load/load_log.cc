#include "serving/commands/load/load_log.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"

namespace tessera::serving {
namespace {

constexpr size_t kMaxFailures = 10;
constexpr const char* kOutcomeNames[] = {"right", "wrong", "lost"};

// Requires sorted values.
absl::Duration Percentile(const std::vector<absl::Duration>& sorted, double percent) {
  if (sorted.empty()) return absl::ZeroDuration();
  // Rounded first: 99.9 % of 1000 is the 999th, whatever the last bit of the product says.
  const double rank = std::ceil(std::round(percent * 1e6 * sorted.size() / 100) / 1e6);
  return sorted[std::max<size_t>(1, static_cast<size_t>(rank)) - 1];
}

}  // namespace

void LoadLog::OpenWindow(absl::string_view name, absl::Duration begin) {
  absl::MutexLock lock(&mu_);
  if (!windows_.empty()) windows_.back().end = begin;
  windows_.push_back({std::string(name), begin, begin});
}

void LoadLog::Close(absl::Duration end) {
  absl::MutexLock lock(&mu_);
  if (!windows_.empty()) windows_.back().end = end;
}

void LoadLog::Add(const RequestRecord& record, absl::string_view failure) {
  absl::MutexLock lock(&mu_);
  records_.push_back(record);
  ++(record.outcome == Outcome::kLost ? counts_.lost : counts_.answered);
  if (record.outcome == Outcome::kRight || failures_.size() >= kMaxFailures) return;
  failures_.push_back(absl::StrCat(kOutcomeNames[static_cast<int>(record.outcome)], " at ",
                                   absl::ToDoubleSeconds(record.intended), " s: ", failure));
}

LoadLog::Counts LoadLog::counts() const {
  absl::MutexLock lock(&mu_);
  return counts_;
}

absl::Duration WindowSummary::Percentile(double percent) const {
  return serving::Percentile(latencies, percent);
}

double WindowSummary::answers_per_second() const {
  const double seconds = absl::ToDoubleSeconds(length);
  return seconds > 0 ? static_cast<double>(right + wrong) / seconds : 0;
}

std::vector<WindowSummary> LoadLog::Summaries() const {
  absl::MutexLock lock(&mu_);
  std::vector<WindowSummary> summaries;
  std::map<std::string, size_t> index;
  for (const Window& window : windows_) {
    if (window.name.empty()) continue;
    const auto [found, is_new] = index.emplace(window.name, summaries.size());
    if (is_new) summaries.push_back({.name = window.name});
    summaries[found->second].length += window.end - window.begin;
  }
  std::vector<std::vector<absl::Duration>> lags(summaries.size());
  for (const RequestRecord& record : records_) {
    const auto after = std::upper_bound(
        windows_.begin(), windows_.end(), record.intended,
        [](absl::Duration time, const Window& window) { return time < window.begin; });
    if (after == windows_.begin() || std::prev(after)->name.empty()) continue;
    const size_t i = index.at(std::prev(after)->name);
    lags[i].push_back(record.lag);
    if (record.outcome == Outcome::kLost) {
      ++summaries[i].lost;
      ++summaries[i].lost_by_code[record.code];
      continue;
    }
    ++(record.outcome == Outcome::kRight ? summaries[i].right : summaries[i].wrong);
    summaries[i].latencies.push_back(record.latency);
  }
  for (size_t i = 0; i < summaries.size(); ++i) {
    WindowSummary& summary = summaries[i];
    std::sort(lags[i].begin(), lags[i].end());
    summary.lag_p99 = Percentile(lags[i], 99);
    std::vector<absl::Duration>& sorted = summary.latencies;
    if (sorted.empty()) continue;
    std::sort(sorted.begin(), sorted.end());
    // A quotient is cut to a quarter of a nanosecond: only that of the sum may be taken.
    for (const absl::Duration latency : sorted) summary.mean += latency;
    summary.mean /= static_cast<double>(sorted.size());
    summary.p50 = summary.Percentile(50);
    summary.p99 = summary.Percentile(99);
    summary.p999 = summary.Percentile(99.9);
    summary.max = sorted.back();
  }
  return summaries;
}

std::vector<std::string> LoadLog::failures() const {
  absl::MutexLock lock(&mu_);
  return failures_;
}

absl::Status LoadLog::WriteCsv(const std::string& path, absl::Time start) const {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
  if (file == nullptr) return absl::ErrnoToStatus(errno, path);
  absl::FPrintF(file.get(), "unix_seconds,lag_us,latency_us,request,outcome\n");
  absl::MutexLock lock(&mu_);
  for (const RequestRecord& record : records_) {
    absl::FPrintF(file.get(), "%.6f,%.1f,%.1f,%u,%s\n",
                  absl::ToDoubleSeconds(start + record.intended - absl::UnixEpoch()),
                  absl::ToDoubleMicroseconds(record.lag),
                  absl::ToDoubleMicroseconds(record.latency), record.request,
                  kOutcomeNames[static_cast<int>(record.outcome)]);
  }
  if (std::fflush(file.get()) != 0) return absl::ErrnoToStatus(errno, path);
  return absl::OkStatus();
}

std::string SummaryJson(const LoadLog& log) {
  rapidjson::StringBuffer text;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json(text);
  json.SetIndent(' ', 2);
  json.SetMaxDecimalPlaces(3);
  const auto number = [&](const char* key, double value) {
    json.Key(key);
    json.Double(value);
  };
  const auto count = [&](const char* key, int64_t value) {
    json.Key(key);
    json.Int64(value);
  };
  const auto micros = [&](const char* key, absl::Duration value) {
    number(key, absl::ToDoubleMicroseconds(value));
  };
  json.StartObject();
  json.Key("windows");
  json.StartObject();
  for (const WindowSummary& window : log.Summaries()) {
    json.Key(window.name);
    json.StartObject();
    number("seconds", absl::ToDoubleSeconds(window.length));
    count("requests", window.right + window.wrong + window.lost);
    count("wrong", window.wrong);
    count("lost", window.lost);
    number("answers_per_second", window.answers_per_second());
    micros("mean_us", window.mean);
    micros("p50_us", window.p50);
    micros("p99_us", window.p99);
    micros("p99.9_us", window.p999);
    micros("max_us", window.max);
    micros("lag_p99_us", window.lag_p99);
    json.EndObject();
  }
  json.EndObject();
  json.Key("failures");
  json.StartArray();
  for (const std::string& failure : log.failures()) json.String(failure);
  json.EndArray();
  json.EndObject();
  return text.GetString();
}

}  // namespace tessera::serving

#include "serving/frontend/access_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "serving/frontend/json/json_string.h"

namespace tessera::serving {
namespace {

// Returns the time as RFC 3339 has it, in UTC and up to its second.
absl::string_view UpToSecond(int64_t unix_seconds) {
  thread_local int64_t second = -1;
  thread_local std::string text;
  if (unix_seconds != second) {
    second = unix_seconds;
    text =
        absl::FormatTime("%Y-%m-%dT%H:%M:%S", absl::FromUnixSeconds(second), absl::UTCTimeZone());
  }
  return text;
}

// Writes the members of an object on one line.
class Line {
 public:
  explicit Line(std::string* out) : out_(out) {}

  void Text(absl::string_view name, absl::string_view value) {
    if (value.empty()) return;
    Begin(name);
    AppendJsonString(value, out_);
  }
  void Number(absl::string_view name, int64_t value) {
    Begin(name);
    absl::StrAppend(out_, value);
  }
  // Writes a text that needs no escapes.
  template <typename... Parts>
  void Plain(absl::string_view name, const Parts&... parts) {
    Begin(name);
    absl::StrAppend(out_, "\"", parts..., "\"");
  }
  void End() { absl::StrAppend(out_, "}\n"); }

 private:
  void Begin(absl::string_view name) {
    absl::StrAppend(out_, out_->empty() ? "{\"" : ",\"", name, "\":");
  }

  std::string* const out_;
};

}  // namespace

std::string AccessLine(const AccessRecord& record) {
  std::string text;
  text.reserve(384);
  Line line(&text);
  const int64_t micros = absl::ToUnixMicros(record.arrived);
  line.Plain("time", UpToSecond(micros / 1'000'000), ".",
             absl::Dec(micros % 1'000'000, absl::kZeroPad6), "Z");
  line.Text("protocol", record.protocol);
  line.Text("method", record.method);
  line.Text("path", record.path);
  line.Text("model", record.model);
  if (record.version) line.Number("version", *record.version);
  line.Text("status", record.status);
  line.Number("duration_us", absl::ToInt64Microseconds(record.duration));
  line.Number("bytes_in", static_cast<int64_t>(record.bytes_in));
  line.Number("bytes_out", static_cast<int64_t>(record.bytes_out));
  line.Text("peer", record.peer);
  line.Text("trace_id", record.trace_id);
  line.End();
  return text;
}

absl::StatusOr<std::unique_ptr<AccessLog>> AccessLog::Open(const std::string& path,
                                                           MetricsRegistry* metrics) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReopenedFile> file, ReopenedFile::Open(path));
  CounterFamily* const counts =
      metrics->AddCounter("/tessera/serving/access_log_count", {"status_code"});
  return std::unique_ptr<AccessLog>(new AccessLog(std::move(file), counts));
}

AccessLog::AccessLog(std::unique_ptr<ReopenedFile> file, CounterFamily* counts)
    : file_(file.get()),
      writer_({.name = "the access log",
               .count =
                   [counts](absl::StatusCode code, int64_t num_records) {
                     counts->Get({absl::StatusCodeToString(code)})
                         .Increment(static_cast<double>(num_records));
                   }},
              std::move(file)) {}

}  // namespace tessera::serving

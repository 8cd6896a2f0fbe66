#include "serving/frontend/grpc/monitor_report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tsl/profiler/protobuf/profiler_service.pb.h"

namespace tessera::serving {
namespace {

struct Durations {
  void Add(const TraceEvent& event) {
    const double ms = static_cast<double>(event.end - event.start) / 1e6;
    ++count;
    sum += ms;
    min = std::min(min, ms);
    max = std::max(max, ms);
  }
  double mean() const { return sum / static_cast<double>(count); }
  std::string Text(double seconds) const {
    if (count == 0) return "none";
    return absl::StrFormat("%.1f/s, %.3f ms on average, %.3f ms at least, %.3f ms at most",
                           static_cast<double>(count) / seconds, mean(), min, max);
  }

  int64_t count = 0;
  double sum = 0, max = 0;  // milliseconds
  double min = std::numeric_limits<double>::infinity();
};

}  // namespace

void FillMonitorResponse(const Trace& trace, absl::Duration cpu_time, int num_cores,
                         const tensorflow::MonitorRequest& request,
                         tensorflow::MonitorResponse* response) {
  Durations requests, runs;
  std::map<absl::string_view, Durations> kinds;
  for (const TraceEvent& event : trace.events) {
    const absl::string_view category = event.category;
    if (category == "run") runs.Add(event);
    if (category != "request") continue;
    requests.Add(event);
    kinds[event.name].Add(event);
  }
  const double seconds = std::max(1e-9, static_cast<double>(trace.end - trace.start) / 1e9);
  const double busy =
      std::clamp(absl::ToDoubleSeconds(cpu_time) / (seconds * num_cores), 0.0, 1.0) * 100;
  std::string* const text = response->mutable_data();
  if (request.timestamp()) {
    absl::StrAppend(text, "Timestamp: ",
                    absl::FormatTime(absl::FromUnixNanos(trace.end), absl::LocalTimeZone()), "\n");
  }
  absl::StrAppend(text, "Requests: ", requests.Text(seconds), "\n");
  if (request.monitoring_level() > 1) {
    for (const auto& [name, durations] : kinds) {
      absl::StrAppend(text, "  ", name, ": ", durations.Text(seconds), "\n");
    }
  }
  absl::StrAppend(text, "Runs: ", runs.Text(seconds), "\n");
  absl::StrAppendFormat(text, "CPU: %.1f %% of %d cores\n", busy, num_cores);
  if (trace.dropped > 0) {
    absl::StrAppend(text, "There were ", trace.dropped,
                    " events too many to be counted; monitor a shorter time\n");
  }

  using Result = tensorflow::ProfilerServiceMonitorResult;
  Result* const result = response->mutable_monitor_result();
  result->set_response_type(Result::UTIL_IDLE);
  result->set_device_idle_time_percent(100 - busy);
  if (runs.count == 0) return;
  result->set_response_type(Result::UTIL_IDLE_STEP);
  result->set_step_time_ms_avg(runs.mean());
  result->set_step_time_ms_min(runs.min);
  result->set_step_time_ms_max(runs.max);
}

}  // namespace tessera::serving

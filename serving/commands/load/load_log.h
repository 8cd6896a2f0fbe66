// LoadLog: what became of every request under load, and what that says window by window.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace tessera::serving {

enum class Outcome : uint8_t { kRight, kWrong, kLost };

struct RequestRecord {
  // When it was to be sent, from the start of the load on.
  absl::Duration intended;
  // The delay of the generator itself: the time from `intended` to the sending.
  absl::Duration lag;
  // The time from `intended` to the answer. It includes the time in a queue in front of a slow
  // server: a server that stops for a second is a second late for all who came meanwhile, not for
  // one.
  absl::Duration latency;
  uint32_t request;
  Outcome outcome;
  absl::StatusCode code = absl::StatusCode::kOk;  // why a request was lost
};

// The summary of the requests that were to be sent in a window. Latencies are those of answers,
// right or wrong; a percentile is the smallest latency that so many were not above.
struct WindowSummary {
  std::string name;
  absl::Duration length;
  int64_t right = 0, wrong = 0, lost = 0;
  absl::Duration mean, p50, p99, p999, max;
  absl::Duration lag_p99;
  std::map<absl::StatusCode, int64_t> lost_by_code;
  std::vector<absl::Duration> latencies;  // sorted

  // Returns the latency that `percent` of the answers were not above; zero without answers.
  absl::Duration Percentile(double percent) const;
  double answers_per_second() const;
};

// A window lasts from its OpenWindow() to the next one; windows of one name are counted as one.
//
//   LoadLog log;
//   log.OpenWindow("before", absl::ZeroDuration());
//   log.Add({...}, "");
//   log.OpenWindow("swap", absl::Seconds(10));
//   ...
//   log.Close(absl::Seconds(20));
//   for (const WindowSummary& window : log.Summaries()) ...
//
// Thread-safe.
class LoadLog {
 public:
  LoadLog() = default;
  LoadLog(const LoadLog&) = delete;

  // Opens a window. Requests before the first window, or in one without a name, are in no summary.
  // Windows are opened in the order of their times.
  void OpenWindow(absl::string_view name, absl::Duration begin);
  // Ends the last window.
  void Close(absl::Duration end);
  // `failure`: how it was wrong or lost, in words.
  void Add(const RequestRecord& record, absl::string_view failure);

  // How many requests were answered and lost so far, windows or not.
  struct Counts {
    int64_t answered = 0, lost = 0;
  };
  Counts counts() const;

  // In the order in which their names came up.
  std::vector<WindowSummary> Summaries() const;
  // The first few, those outside of windows too.
  std::vector<std::string> failures() const;
  // One line a request in the order of the answers, after a line of names: the time at which it was
  // to be sent in Unix seconds, then lag and latency in microseconds, the request's index, and
  // right, wrong or lost. Errors: those of the file system.
  absl::Status WriteCsv(const std::string& path, absl::Time start) const;

 private:
  struct Window {
    std::string name;
    absl::Duration begin, end;
  };

  mutable absl::Mutex mu_;
  std::vector<Window> windows_ ABSL_GUARDED_BY(mu_);
  std::deque<RequestRecord> records_ ABSL_GUARDED_BY(mu_);
  Counts counts_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> failures_ ABSL_GUARDED_BY(mu_);
};

// The summaries as JSON: {"windows": {NAME: {...}}, "failures": [...]}, times in microseconds.
std::string SummaryJson(const LoadLog& log);

}  // namespace tessera::serving

// LoadRun: sends requests at the times that a kind of load wants.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "absl/time/time.h"
#include "serving/commands/load/load_clock.h"
#include "serving/commands/load/load_log.h"
#include "serving/commands/load/request_target.h"

namespace tessera::serving {

// Open loop: requests come as a Poisson process, whatever becomes of those before. When the target
// is slow they pile up, as those of many independent clients would. Closed loop: a fixed number is
// under way at any time; the next one goes when an answer comes.
//
//   LoadRun run({.rate = 1000, .duration = absl::Seconds(10)}, target.get(), nullptr, &log);
//   run.Run();
//
// Run() is called once; the others are thread-safe.
class LoadRun {
 public:
  struct Options {
    // Requests a second of the open loop; 0: closed loop.
    double rate = 0;
    // Requests under way in the closed loop.
    int in_flight = 1;
    absl::Duration duration = absl::InfiniteDuration();
    // Requests of the target that are sent in turn.
    size_t num_requests = 1;
    // The seed of the times between requests. The same seed gives the same times.
    uint64_t seed = 1;
    // The clock that says when to send; must outlive the run.
    LoadClock* clock = LoadClock::Monotonic();
  };

  // Returns how the answer to a request is wrong, in words; an empty text if it is right. Called on
  // the threads of the target.
  using CheckAnswer = std::function<std::string(size_t request, absl::string_view answer)>;

  // `target` and `log` must outlive the run. Without a check every answer is right.
  LoadRun(const Options& options, RequestTarget* target, CheckAnswer check, LoadLog* log);

  // Returns when the duration is over, or after Stop(), and every reply is there. Closes the log.
  void Run();
  void Stop() { stopped_ = true; }
  // Since the run was made: the clock of the records.
  absl::Duration Elapsed() const;
  // Returns the time from which Elapsed() counts.
  absl::Time start() const { return start_; }

 private:
  void RunOpen();
  void RunClosed();
  void Send(absl::Duration intended);
  void OnReply(RequestRecord record, const absl::Status& status, absl::string_view answer);
  // Sleeps until then, or until it is worth looking whether something has changed.
  void SleepUntil(absl::Duration elapsed);
  bool IsOver() const { return stopped_ || Elapsed() >= options_.duration; }

  const Options options_;
  RequestTarget* const target_;
  const CheckAnswer check_;
  LoadLog* const log_;
  const absl::Time start_;
  const absl::Duration start_on_clock_;
  std::atomic<bool> stopped_{false};
  std::atomic<size_t> turn_{0};
  std::atomic<int64_t> under_way_{0};
};

}  // namespace tessera::serving

// Tracer: records what the process does, for as long as somebody watches.
//
//   RETURN_IF_ERROR(tracer.Start({.level = TraceLevel::kOps}));
//   ...                                          // requests come and go
//   const Trace trace = tracer.Stop();
//   ToXSpace(trace, &xspace);                    // trace_export.h
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/node_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace tessera {

// Returns the number by which the system knows the calling thread.
int32_t CurrentThreadId();

// The thread of an event that occupied none, such as the wait of a request for a thread.
inline constexpr int32_t kNoThread = 0;

// How much a trace holds; each level includes those before it.
enum class TraceLevel { kOff, kRuns, kOps };

// Something that took a while. Times are nanoseconds since 1970.
struct TraceEvent {
  // "Predict resnet/3", "conv1:Conv2D". Recording an event copies it.
  absl::string_view name;
  const char* category;  // "request", "queue", "phase", "run" or "op"; not owned
  int32_t thread = kNoThread;
  int64_t start = 0;
  int64_t end = 0;
  std::vector<std::pair<const char*, std::string>> arguments;  // the names are not owned
};

// The events that were recorded between a start and a stop.
struct Trace {
  int64_t start = 0;
  int64_t end = 0;
  std::vector<TraceEvent> events;               // in no order; their names are views of `names`
  std::map<int32_t, std::string> thread_names;  // of the threads that still live
  int64_t dropped = 0;                          // events over the limit
  std::vector<absl::node_hash_set<std::string>> names;
};

// Thread-safe. While nobody records, the cost of a place that is traced is one relaxed read.
class Tracer {
 public:
  struct Options {
    TraceLevel level = TraceLevel::kOps;
    // Later events are counted and dropped. An event takes about 80 bytes, and as much again while
    // it is exported; those of requests take twice as much.
    int64_t max_events = 500'000;
  };

  // Returns the time as events have it.
  static int64_t Now();

  // Errors: ALREADY_EXISTS if a trace is being recorded.
  absl::Status Start(const Options& options) ABSL_LOCKS_EXCLUDED(control_mu_);
  // Ends the trace that Start() began. Events that are recorded meanwhile are lost.
  Trace Stop() ABSL_LOCKS_EXCLUDED(control_mu_);

  // Returns true if a trace is being recorded that holds events of this level.
  bool Records(TraceLevel level) const { return level_.load(std::memory_order_relaxed) >= level; }
  // Does nothing unless a trace is being recorded.
  void Record(TraceEvent event);

 private:
  // The events of some of the threads, so that threads seldom wait for each other.
  struct Shard {
    absl::Mutex mu;
    std::vector<TraceEvent> events ABSL_GUARDED_BY(mu);
    absl::node_hash_set<std::string> names ABSL_GUARDED_BY(mu);
  };

  std::atomic<TraceLevel> level_{TraceLevel::kOff};
  std::atomic<int64_t> room_{0};  // events that may still be recorded; negative: some were dropped
  std::array<Shard, 16> shards_;
  absl::Mutex control_mu_;
  bool is_started_ ABSL_GUARDED_BY(control_mu_) = false;
  int64_t start_ ABSL_GUARDED_BY(control_mu_) = 0;
};

}  // namespace tessera

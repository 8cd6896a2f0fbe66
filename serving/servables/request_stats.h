// RequestStats: what the requests to one version took, phase by phase.
//
//   RequestTimes times{.arrived = absl::Now()};
//   times.cell = &model->request_stats().Begin(RequestMethod::kPredict, Entrypoint::kGrpc);
//   ... the servable notes when its run begins and ends ...
//   times.cell->End(status, times, absl::Now());
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "serving/core/metrics.h"

namespace tessera::serving {

// The front end that a request came by.
enum class Entrypoint { kGrpc, kRest };
inline constexpr std::array<absl::string_view, 2> kEntrypointNames = {"grpc", "rest"};

// The way in which a request asks its model.
enum class RequestMethod { kPredict, kClassify, kRegress, kMultiInference };
inline constexpr std::array<absl::string_view, 4> kMethodNames = {"predict", "classify", "regress",
                                                                  "multi_inference"};

// The parts of the time of a request, in their order; together they are the whole.
enum class RequestPhase {
  kDecode,  // reading its message into tensors, and finding its model
  kWait,    // for a thread, if it is not answered on the one that read it; also the time that was
            // lost with a candidate, if the stable version answers what that could not
  kBatch,   // in a queue, for other requests to share its run, and for that run to begin
  kRun,     // of the model; also merging and splitting a batch
  kEncode,  // writing the answer from tensors
};
inline constexpr std::array<absl::string_view, 5> kPhaseNames = {"decode", "wait", "batch", "run",
                                                                 "encode"};

class RequestCell;

// The time stamps and counts that the front end, the servable and batching note of one request.
// Used by one thread at a time.
struct RequestTimes {
  absl::Time arrived;  // when it had been read from its connection
  // For a thread, and for a candidate whose error the client does not get.
  absl::Duration waited = absl::ZeroDuration();
  absl::Time resumed = absl::InfinitePast();      // when that wait ended
  absl::Time run_began = absl::InfinitePast();    // its tensors are decoded
  absl::Duration batched = absl::ZeroDuration();  // between `run_began` and the run of its batch
  absl::Time run_ended = absl::InfinitePast();    // its outputs are there
  RequestCell* cell = nullptr;                    // null until its version was found
  std::optional<int64_t> version;                 // of the servable, once it was found
};

// Returns a closure that answers a request on another thread by `answer`, and first notes how long
// that thread was waited for. `times` must exist until it runs.
template <typename Answer>
auto NotingWait(RequestTimes* times, Answer answer) {
  return [times, scheduled = absl::Now(), answer = std::move(answer)] {
    times->resumed = absl::Now();
    times->waited += times->resumed - scheduled;
    answer();
  };
}

// The requests to one version by one method and one front end. Thread-safe, without locks.
class RequestCell {
 public:
  // The codes of absl::Status, from 0.
  static constexpr int kNumCodes = 17;

  RequestCell(RequestMethod method, Entrypoint entrypoint);

  RequestMethod method() const { return method_; }
  Entrypoint entrypoint() const { return entrypoint_; }

  // Counts a request as answered at `now`, with its status. The times of those that succeeded are
  // recorded.
  void End(const absl::Status& status, const RequestTimes& times, absl::Time now);

  // Returns the number of requests that have begun and not ended.
  int64_t in_flight() const;
  // Returns the number of requests that ended with this code.
  int64_t ended(absl::StatusCode code) const;
  // Returns when a request succeeded last; the epoch of Unix before the first.
  absl::Time last_success() const {
    return absl::FromUnixNanos(last_success_.load(std::memory_order_relaxed));
  }
  // In microseconds, of requests that succeeded.
  const Histogram& latency() const { return latency_; }
  const Histogram& latency(RequestPhase phase) const { return phases_[static_cast<int>(phase)]; }

 private:
  friend class RequestStats;

  const RequestMethod method_;
  const Entrypoint entrypoint_;
  std::atomic<int64_t> begun_{0};
  std::array<std::atomic<int64_t>, kNumCodes> ended_{};
  std::atomic<int64_t> last_success_{0};  // in nanoseconds since the epoch
  Histogram latency_;
  std::array<Histogram, kPhaseNames.size()> phases_;
};

// Part of each servable; its cells live as long. Thread-safe. A cell is made by its first request;
// after that no call takes a lock or looks up a name.
class RequestStats {
 public:
  RequestStats() = default;
  ~RequestStats();
  RequestStats(const RequestStats&) = delete;
  RequestStats& operator=(const RequestStats&) = delete;

  // Counts a request that begins, and returns its cell, which must be told of its end.
  RequestCell& Begin(RequestMethod method, Entrypoint entrypoint);

  // Calls `visit` for each cell that had a request.
  void ForEach(absl::FunctionRef<void(absl::string_view method, absl::string_view entrypoint,
                                      const RequestCell& cell)>
                   visit) const;

 private:
  std::array<std::array<std::atomic<RequestCell*>, kEntrypointNames.size()>, kMethodNames.size()>
      cells_{};
};

}  // namespace tessera::serving

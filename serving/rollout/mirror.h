// Mirror: asks a candidate what the live version was asked, at low priority, compares the answers,
// and throws the candidate's away.
//
//   Mirror mirror({.background_pool = host->background_pool(),
//                  .cores = host->background_cores(),
//                  .pacer = &host->pacer()},
//                 [&](const ServableId& id) {
//                   return models.Acquire({.name = id.name, .version = id.version});
//                 });
//   mirror.Offer(candidate, measurer, /*percent=*/10, answer);   // for each of live's answers
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/thread_pool.h"
#include "runtime/host/background.h"
#include "runtime/host/core_set.h"
#include "runtime/host/pace.h"
#include "serving/core/metrics.h"
#include "serving/core/servable_id.h"
#include "serving/rollout/version_measures.h"
#include "serving/servables/servable.h"
#include "serving/servables/traffic_router.h"

namespace tessera::serving {

// Copies wait in a bounded queue for threads that yield to requests, as those that load models do:
// they run at the priority and on the cores of background work, and pause while requests come. What
// finds the queue full is dropped, and counted by the measurer. A server has one mirror for all of
// its models.
//
// Thread-safe. Offer() takes no lock. The destructor drops the copies that wait, cancels those that
// run, and waits for these.
class Mirror {
 public:
  struct Options {
    // The pool that the candidates' runs compute in, the cores that the mirror's threads are bound
    // to, one thread for each, the priority of these threads, and what paces them: those of the
    // Host. Without them the threads run on any core, and the runs in the pools of requests. Must
    // outlive the mirror.
    ThreadPool* background_pool = nullptr;
    CoreSet cores;
    ThreadPriority priority = ThreadPriority::kLow;
    Pacer* pacer = nullptr;
    // The most copies that wait, and the bytes that they hold.
    int64_t max_requests = 256;
    int64_t max_bytes = int64_t{64} << 20;
    // The metrics in which copies are counted by their outcome: compared, failed or dropped. May be
    // null. Must outlive the mirror.
    MetricsRegistry* metrics = nullptr;
    // A run that takes longer is cancelled, and counts as dropped: it may be slow only because it
    // yields.
    absl::Duration timeout = absl::Seconds(30);
  };
  // Returns a handle to a version that is loaded.
  using Acquire = std::function<absl::StatusOr<ModelHandle>(const ServableId&)>;

  // `acquire` is called for each copy before its run, so that copies which wait keep no version
  // loaded.
  Mirror(const Options& options, Acquire acquire);
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // Copies the request of `answer` with a probability of `percent`, for `candidate`, whose answers
  // `measurer` compares. Does nothing if the request failed, has no inputs, or if a signature of
  // the candidate that it runs has effects that another run would notice.
  //
  // What is done on the calling thread is bounded: inputs up to kMaxCopiedBytes are copied, since
  // their memory may be a part of a much larger buffer, larger ones are shared, and of the answer
  // an excerpt is copied.
  void Offer(const ServableId& candidate, std::shared_ptr<VersionMeasurer> measurer, double percent,
             const TrafficRouter::Answer& answer);
  static constexpr size_t kMaxCopiedBytes = 16 << 10;

 private:
  struct KeptTask;
  struct Copy;

  // Counts a copy as one that waits. Returns false if there is no room for it; it is counted
  // nonetheless, until Release().
  bool Reserve(int64_t bytes);
  void Release(int64_t bytes);
  void Push(Copy* copy);
  // Returns the copy that waits longest; null if there is none.
  std::unique_ptr<Copy> Pop() ABSL_LOCKS_EXCLUDED(pop_mu_);
  void RunThread();
  void Run(const Copy& copy);
  // Whether a signature that the copy runs has effects that another run would notice.
  static bool HasEffects(const Servable& candidate, const Copy& copy);
  // Asks the candidate, and sets the outputs that it answers.
  absl::Status Ask(const Servable& candidate, const Copy& copy, std::vector<NamedOutput>* outputs);
  void Count(const std::string& model, absl::string_view outcome);

  const Options options_;
  const Acquire acquire_;
  CounterFamily* const copies_;  // null without metrics
  // Threads of requests push on a list without a lock, because a thread of low priority that holds
  // one may be kept from its core. The mirror's threads take the whole list at once, and reverse
  // it.
  std::atomic<Copy*> pushed_{nullptr};
  std::atomic<int> num_pushes_{0};  // idle threads of the mirror sleep until it changes
  std::atomic<int64_t> waiting_requests_{0}, waiting_bytes_{0};
  std::atomic<bool> stopping_{false};
  absl::Mutex pop_mu_;
  std::vector<std::unique_ptr<Copy>> taken_ ABSL_GUARDED_BY(pop_mu_);  // oldest last
  CancellationManager cancellation_;
  std::vector<std::thread> threads_;
};

}  // namespace tessera::serving

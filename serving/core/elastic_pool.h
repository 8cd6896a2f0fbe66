// ElasticPool: a thread pool that starts threads when there is work and ends them when there is
// none.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/host/background.h"
#include "runtime/host/core_set.h"
#include "runtime/host/fair_queue.h"
#include "runtime/host/pace.h"
#include "runtime/host/share.h"

namespace tessera::serving {

// Runs closures that may block, such as loads of models and requests. An idle pool has no threads,
// and a closure waits only if `max_threads` are busy already, or the system has no thread for it.
// Then the pool asks again and again, and while it has no thread at all its closures run one after
// the other in a thread that all pools share. Computation that is split over cores belongs to the
// runtime's ThreadPool instead.
//
// Closures belong to shares, which divide the threads while they compete for them (FairQueue). The
// only closure of a share does not wait for those of other shares: if they have all threads, it
// gets one of its own, up to twice `max_threads` in all.
//
// Thread-safe. The destructor waits for all closures.
class ElasticPool {
 public:
  struct Options {
    std::string name = "elastic";  // shown by top -H, cut at 15 characters
    int max_threads = 1;
    // The priority of the threads, and of the threads that they start.
    ThreadPriority priority = ThreadPriority::kNormal;
    // The cores that the threads are bound to. Empty: any.
    CoreSet cores;
    // Paces the closures. Null: they run at full speed. Must outlive the pool.
    Pacer* pacer = nullptr;
    // An idle thread ends after this long.
    absl::Duration idle_timeout = absl::Seconds(10);
  };
  explicit ElasticPool(const Options& options);
  ~ElasticPool();
  ElasticPool(const ElasticPool&) = delete;
  ElasticPool& operator=(const ElasticPool&) = delete;

  // Runs a closure of a share, which may be null, and must outlive the pool.
  void Schedule(const Share* share, std::function<void()> closure);
  void Schedule(std::function<void()> closure) { Schedule(nullptr, std::move(closure)); }
  // Changes the limit, for closures that turn out to hold threads for ever. Threads above a lowered
  // limit end when their closures are done.
  void set_max_threads(int max_threads);
  int num_threads() const;
  // Returns the number of closures that wait for a thread.
  int num_queued() const;

 private:
  using Threads = std::list<std::thread>;
  using Closure = std::function<void()>;

  void Run(Closure closure) const ABSL_LOCKS_EXCLUDED(mu_);
  // Starts a thread that first runs `first`, which counts as taken, unless that is null. If the
  // system refuses it, `first` joins the queue, and the pool asks again.
  void AddThread(const Share* share = nullptr, Closure first = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RunThread(Threads::iterator self, const Share* share, Closure first);
  // Runs the closure whose turn it is. `mu_` is free meanwhile.
  void RunNext(int64_t now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Asks after `time` for the threads that the system refused, until no closure lacks one.
  void AskAgainIn(absl::Duration time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AskAgain() ABSL_LOCKS_EXCLUDED(mu_);
  // Returns whether a closure waits and the limit allows a thread for it.
  bool LacksThread() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasTooManyThreads(int64_t now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  mutable absl::Mutex mu_;
  absl::CondVar work_or_stop_;
  absl::CondVar thread_ended_;
  FairQueue<Closure> queue_ ABSL_GUARDED_BY(mu_);
  Threads threads_ ABSL_GUARDED_BY(mu_);
  Threads ended_ ABSL_GUARDED_BY(mu_);  // the next caller joins them
  int idle_ ABSL_GUARDED_BY(mu_) = 0;
  int max_threads_ ABSL_GUARDED_BY(mu_);
  bool asks_again_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace tessera::serving

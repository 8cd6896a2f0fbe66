// ElasticPool: threads that come when there is work and go when there is none.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/host/background.h"
#include "runtime/host/core_set.h"

namespace tessera::serving {

// Runs closures that may block: loads of models, requests. An idle server has none of its threads,
// and a closure waits only if `max_threads` are busy already. For computation split over cores, see
// ThreadPool of the runtime.
//
// Thread-safe. The destructor waits for all closures.
class ElasticPool {
 public:
  struct Options {
    std::string name = "elastic";  // shown by top -H, cut at 15 characters
    int max_threads = 1;
    // Of the threads, and of those they start. Closures of lowered threads are paced, too.
    ThreadPriority priority = ThreadPriority::kNormal;
    // That they stay on. Empty: any.
    CoreSet cores;
    // An idle thread ends after this long.
    absl::Duration idle_timeout = absl::Seconds(10);
  };
  explicit ElasticPool(const Options& options);
  ~ElasticPool();
  ElasticPool(const ElasticPool&) = delete;
  ElasticPool& operator=(const ElasticPool&) = delete;

  void Schedule(std::function<void()> closure);
  // For closures that turn out to hold threads for ever. Threads above a lowered limit end when
  // they are done.
  void set_max_threads(int max_threads);
  int num_threads() const;

 private:
  using Threads = std::list<std::thread>;
  void Run(std::function<void()> closure) const ABSL_LOCKS_EXCLUDED(mu_);
  void AddThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RunThread(Threads::iterator self);

  const Options options_;
  mutable absl::Mutex mu_;
  absl::CondVar work_or_stop_;
  absl::CondVar thread_ended_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mu_);
  Threads threads_ ABSL_GUARDED_BY(mu_);
  Threads ended_ ABSL_GUARDED_BY(mu_);  // to be joined by whoever comes by
  int idle_ ABSL_GUARDED_BY(mu_) = 0;
  int max_threads_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace tessera::serving

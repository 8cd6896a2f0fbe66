// Host: what the sessions of one process share: threads, cores and turns.
#pragma once

#include <memory>
#include <optional>

#include "runtime/base/thread_pool.h"
#include "runtime/host/background.h"
#include "runtime/host/core_set.h"
#include "runtime/host/pace.h"
#include "runtime/host/run_slots.h"
#include "runtime/host/share.h"
#include "runtime/host/yielding.h"

namespace tessera {

// Threads belong to cores, not to models. A program therefore makes one host and gives it to all of
// its sessions, and to whatever loads models.
//
//   auto host = std::make_shared<Host>(Host::Options{.background = Host::Background{}});
//   SessionOptions options;
//   options.host = host;
//
// The threads are started by the constructor, at the priority of the calling thread. Their
// arithmetic rounds denormal numbers to zero (runtime/base/flushed_denormals.h). Thread-safe.
class Host {
 public:
  // Work that gives way to requests, such as loading and warming up a model.
  struct Background {
    ThreadPriority priority = ThreadPriority::kLow;
    // The share of the cores that such work may use, 0 < cpu_share <= 1.
    double cpu_share = 1;
  };
  struct Options {
    // The number of threads that parallel loops use. 0: one for each core.
    int intra_op_threads = 0;
    // The number of threads that branches of a graph use. 0: one for each core.
    int inter_op_threads = 0;
    // Without a value there is no background pool.
    std::optional<Background> background;
  };
  explicit Host(const Options& options);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Null if it would have one thread: then loops run on the thread that starts them.
  ThreadPool* intra_op_pool() const { return intra_op_pool_.get(); }
  ThreadPool& inter_op_pool() const { return *inter_op_pool_; }

  // For BackgroundScope. The pool's threads have the priority and the cores of the background, and
  // are paced by pacer(). Null if there is none.
  ThreadPool* background_pool() const;
  // The cores that background work is bound to; empty without a background pool. Threads outside of
  // the pool that do such work bind themselves.
  const CoreSet& background_cores() const { return background_cores_; }

  // For YieldingScope. Its threads have a low priority. Null if there is no background pool.
  YieldingPool* yielding_pool() const { return yielding_pool_.get(); }

  // One slot for each core, for the runs of the calling thread: those of yielding work are apart,
  // so that others do not wait for one that a run of low priority has.
  RunSlots& run_slots() { return Yields() ? yielding_slots_ : run_slots_; }
  // Returns the shares between which slots and threads are divided: one share for each model, by
  // its name.
  Shares& shares() { return shares_; }
  // The pacer, which a server tells of each request.
  Pacer& pacer() { return pacer_; }

 private:
  class PacedPool;

  Pacer pacer_;
  Shares shares_;
  RunSlots run_slots_;
  RunSlots yielding_slots_;
  CoreSet background_cores_;
  // Null: see the accessors.
  std::unique_ptr<ThreadPool> intra_op_pool_;
  std::unique_ptr<ThreadPool> inter_op_pool_;
  std::unique_ptr<YieldingPool> yielding_pool_;
  std::unique_ptr<PacedPool> background_pool_;
};

}  // namespace tessera

// Callbacks after a device's work is done.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace tessera {

// The events of one piece of hardware. An event marks a place in a queue of work; events and queues
// are the hardware's handles. Thread-safe.
class EventDriver {
 public:
  virtual ~EventDriver() = default;
  virtual absl::StatusOr<void*> Create() = 0;
  virtual void Destroy(void* event) = 0;
  // Moves the event to the end of what is enqueued on `queue` now.
  virtual absl::Status Record(void* event, void* queue) = 0;
  // Returns whether everything before the event is done. Errors: those of the hardware, which will
  // never come to the event.
  virtual absl::StatusOr<bool> IsDone(void* event) = 0;
};

// Calls back when the work that a queue holds at the time of the call is done.
//
//   EventManager events(&driver);
//   kernel<<<...>>>(x);                                         // reads the pinned memory x
//   events.Then(queue, [x](absl::Status) {});                   // which lives until it is read
//
// A thread polls the first event of each queue while there are any, and sleeps otherwise. Events
// are reused. Callbacks of one queue run in the order of the calls, those of several queues in any
// order, all on that thread, without a lock: they may call Then(), and must not wait.
//
// Thread-safe. The destructor runs all callbacks that are still to come.
class EventManager {
 public:
  struct Options {
    // Pause between two looks at the events that are pending. It bounds what a callback comes too
    // late, and what polling takes of a core.
    absl::Duration poll_interval = absl::Microseconds(20);
  };
  // `status` is the error of the hardware, if it failed before it came to the event.
  using Callback = std::function<void(absl::Status status)>;

  // `driver` must outlive the manager.
  explicit EventManager(EventDriver* driver) : EventManager(driver, Options()) {}
  EventManager(EventDriver* driver, const Options& options);
  ~EventManager();
  EventManager(const EventManager&) = delete;
  EventManager& operator=(const EventManager&) = delete;

  // Calls `done` once everything that `queue` holds now is done.
  void Then(void* queue, Callback done);

  // How many events were made, in use or not.
  int64_t num_events() const;

 private:
  struct Pending {
    void* event = nullptr;  // null: `status` is known
    absl::Status status;
    Callback done;
  };
  absl::StatusOr<void*> Record(void* queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Moves what is done from `pending_` to `ready_`.
  void Poll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasWorkOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !pending_.empty() || is_stopping_;
  }
  void Loop();

  EventDriver* const driver_;
  const Options options_;

  mutable absl::Mutex mu_;
  std::map<void*, std::deque<Pending>> pending_ ABSL_GUARDED_BY(mu_);  // by queue, none empty
  std::vector<void*> unused_ ABSL_GUARDED_BY(mu_);
  int64_t num_events_ ABSL_GUARDED_BY(mu_) = 0;
  bool is_stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Pending> ready_;  // used by the thread alone
  std::thread thread_;
};

}  // namespace tessera

// Watchdog: tells when a wait takes too long.
#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace tessera {

// Calls a function on a thread of its own if Disarm() does not follow Arm() within the limit. Arm()
// and Disarm() are called by one thread and cost a lock that is free.
class Watchdog {
 public:
  Watchdog(absl::Duration limit, std::function<void()> on_timeout);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;

  void Arm();
  // Returns true if the limit was exceeded since Arm().
  bool Disarm();

 private:
  void Watch();

  const absl::Duration limit_;
  const std::function<void()> on_timeout_;
  absl::Mutex mu_;
  bool is_over_ ABSL_GUARDED_BY(mu_) = false;
  bool has_fired_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time deadline_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  std::thread thread_;
};

}  // namespace tessera

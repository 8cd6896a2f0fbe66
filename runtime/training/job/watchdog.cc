#include "runtime/training/job/watchdog.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace tessera {

Watchdog::Watchdog(absl::Duration limit, std::function<void()> on_timeout)
    : limit_(limit), on_timeout_(std::move(on_timeout)), thread_([this] { Watch(); }) {}

Watchdog::~Watchdog() {
  {
    absl::MutexLock lock(&mu_);
    is_over_ = true;
  }
  thread_.join();
}

void Watchdog::Arm() {
  absl::MutexLock lock(&mu_);
  has_fired_ = false;
  deadline_ = absl::Now() + limit_;
}

bool Watchdog::Disarm() {
  absl::MutexLock lock(&mu_);
  deadline_ = absl::InfiniteFuture();
  return has_fired_;
}

void Watchdog::Watch() {
  absl::MutexLock lock(&mu_);
  while (!is_over_) {
    // No deadline that is set meanwhile comes before this one.
    const absl::Time next = std::min(deadline_, absl::Now() + limit_);
    if (mu_.AwaitWithDeadline(absl::Condition(&is_over_), next)) return;
    if (absl::Now() < deadline_) continue;
    deadline_ = absl::InfiniteFuture();
    has_fired_ = true;
    mu_.Unlock();
    on_timeout_();
    mu_.Lock();
  }
}

}  // namespace tessera

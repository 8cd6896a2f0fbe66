#include "runtime/device/events/event_manager.h"

#include <sys/prctl.h>

#include <utility>

#include "absl/time/clock.h"
#include "runtime/base/status.h"

namespace tessera {

EventManager::EventManager(EventDriver* driver, const Options& options)
    : driver_(driver), options_(options), thread_([this] { Loop(); }) {}

EventManager::~EventManager() {
  {
    absl::MutexLock lock(&mu_);
    is_stopping_ = true;
  }
  thread_.join();
  for (void* event : unused_) driver_->Destroy(event);
}

void EventManager::Then(void* queue, Callback done) {
  absl::MutexLock lock(&mu_);
  absl::StatusOr<void*> event = Record(queue);
  pending_[queue].push_back({event.ok() ? *event : nullptr, event.status(), std::move(done)});
}

int64_t EventManager::num_events() const {
  absl::MutexLock lock(&mu_);
  return num_events_;
}

absl::StatusOr<void*> EventManager::Record(void* queue) {
  void* event;
  if (unused_.empty()) {
    ASSIGN_OR_RETURN(event, driver_->Create());
    ++num_events_;
  } else {
    event = unused_.back();
    unused_.pop_back();
  }
  if (absl::Status status = driver_->Record(event, queue); !status.ok()) {
    unused_.push_back(event);
    return status;
  }
  return event;
}

void EventManager::Poll() {
  for (auto queue = pending_.begin(); queue != pending_.end();) {
    std::deque<Pending>& events = queue->second;
    while (!events.empty()) {
      Pending& first = events.front();
      if (first.event != nullptr) {
        const absl::StatusOr<bool> is_done = driver_->IsDone(first.event);
        if (is_done.ok() && !*is_done) break;
        first.status = is_done.status();
        unused_.push_back(first.event);
      }
      ready_.push_back(std::move(first));
      events.pop_front();
    }
    queue = events.empty() ? pending_.erase(queue) : std::next(queue);
  }
}

void EventManager::Loop() {
  // Otherwise the kernel adds up to 50 microseconds to each pause.
  ::prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &EventManager::HasWorkOrStops));
      Poll();
      if (ready_.empty() && pending_.empty()) return;
    }
    if (ready_.empty()) {
      absl::SleepFor(options_.poll_interval);
      continue;
    }
    // A callback dies right after its call: it may hold the last share in memory of the device.
    for (Pending& event : ready_) std::exchange(event.done, nullptr)(std::move(event.status));
    ready_.clear();
  }
}

}  // namespace tessera

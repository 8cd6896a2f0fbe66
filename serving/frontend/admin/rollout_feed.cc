#include "serving/frontend/admin/rollout_feed.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

bool IsFor(const std::string& model, const RolloutEvent& event) {
  return model.empty() || model == event.model();
}

}  // namespace

RolloutFeed::RolloutFeed(const Options& options, RolloutAdmin* rollouts) : options_(options) {
  if (rollouts != nullptr) {
    for (const RolloutEvent& event : rollouts->RecentEvents()) Add(event);
    source_ = rollouts->WatchEvents([this](const RolloutEvent& event) { Add(event); });
  }
  heart_ = std::thread([this] { Beat(); });
}

RolloutFeed::~RolloutFeed() {
  Stop();
  heart_.join();
  source_.reset();  // before the members that Add() uses
}

absl::Status RolloutFeed::Watch(const std::string& model, int64_t after,
                                std::shared_ptr<Watcher> watcher) {
  absl::MutexLock lock(&mu_);
  RETURN_IF_ERROR(RoomLocked());
  for (const Numbered& event : kept_) {
    if (event.number <= after || !IsFor(model, event.event)) continue;
    if (!watcher->Send(event)) return absl::OkStatus();
  }
  watched_.push_back({model, std::move(watcher)});
  return absl::OkStatus();
}

int64_t RolloutFeed::latest() const {
  absl::MutexLock lock(&mu_);
  return latest_;
}

absl::Status RolloutFeed::CheckRoom() const {
  absl::MutexLock lock(&mu_);
  return RoomLocked();
}

absl::Status RolloutFeed::RoomLocked() const {
  if (stopped_) return absl::UnavailableError("the server is stopping");
  if (static_cast<int>(watched_.size()) < options_.max_watchers) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      "too many watch the events already: close a dashboard or a `tessera rollout --watch`");
}

void RolloutFeed::Stop() {
  absl::MutexLock lock(&mu_);
  stopped_ = true;
  for (const Watched& watched : watched_) watched.watcher->End();
  watched_.clear();
}

void RolloutFeed::Add(const RolloutEvent& event) {
  absl::MutexLock lock(&mu_);
  kept_.push_back({++latest_, event});
  if (kept_.size() > kKeptEvents) kept_.pop_front();
  std::erase_if(watched_, [&](const Watched& watched) {
    return IsFor(watched.model, event) && !watched.watcher->Send(kept_.back());
  });
}

void RolloutFeed::Beat() {
  pthread_setname_np(pthread_self(), "heartbeat");
  absl::MutexLock lock(&mu_);
  while (!mu_.AwaitWithTimeout(absl::Condition(&stopped_), options_.heartbeat)) {
    std::erase_if(watched_, [](const Watched& watched) { return !watched.watcher->Beat(); });
  }
}

}  // namespace tessera::serving

// RolloutFeed: the events of rollouts, numbered, for watchers who come and go.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "serving/rollout/rollout_admin.h"
#include "tessera/rollout.pb.h"

namespace tessera::serving {

// Keeps the latest events, so that a watcher that comes again gets what it missed, and looks from
// time to time whether watchers are still there. Thread-safe.
class RolloutFeed {
 public:
  struct Options {
    // How often Beat() of each watcher is called.
    absl::Duration heartbeat = absl::Seconds(15);
    int max_watchers = 256;
  };
  static constexpr size_t kKeptEvents = 512;

  struct Numbered {
    int64_t number;  // from 1, without gaps
    RolloutEvent event;
  };

  // One that gets events. Its calls are made one at a time, must not wait and must not call the
  // feed.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // Takes the next event. Returns false to be forgotten.
    virtual bool Send(const Numbered& event) = 0;
    // Called when there may have been no event for a while. Returns false to be forgotten.
    virtual bool Beat() = 0;
    // The last call, because the feed ends.
    virtual void End() = 0;
  };

  // `rollouts` may be null, which gives no events; otherwise it must outlive the feed. Events
  // before this call are those of RecentEvents().
  RolloutFeed(const Options& options, RolloutAdmin* rollouts);
  ~RolloutFeed();

  // Sends the kept events with numbers above `after`, and all later ones of the model; of all
  // models if `model` is empty. Errors: RESOURCE_EXHAUSTED for too many watchers; UNAVAILABLE after
  // Stop().
  absl::Status Watch(const std::string& model, int64_t after, std::shared_ptr<Watcher> watcher);
  // Returns OK, or the error that Watch() would return now.
  absl::Status CheckRoom() const;
  // Returns the number of the latest event, 0 if there was none.
  int64_t latest() const;

  // Ends all watchers, and refuses others from now on.
  void Stop();

 private:
  struct Watched {
    std::string model;
    std::shared_ptr<Watcher> watcher;
  };

  absl::Status RoomLocked() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void Add(const RolloutEvent& event);
  void Beat();

  const Options options_;
  mutable absl::Mutex mu_;
  std::deque<Numbered> kept_ ABSL_GUARDED_BY(mu_);
  int64_t latest_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Watched> watched_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::shared_ptr<void> source_;
  std::thread heart_;
};

}  // namespace tessera::serving

// RolloutEvents: where decisions about rollouts are told: the log, the metrics, and whoever
// watches.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "serving/core/metrics.h"
#include "tessera/rollout.pb.h"

namespace tessera::serving {

// Thread-safe.
class RolloutEvents {
 public:
  // How many events are kept.
  static constexpr size_t kMaxRecent = 256;

  // `metrics` must outlive this object.
  explicit RolloutEvents(MetricsRegistry* metrics);

  // Shows the counters of all decisions about a model, from zero: a rate of a counter that appears
  // with its first decision misses that one.
  void ShowCounters(const std::string& model);

  void Add(const RolloutEvent& event);
  // Returns the events that are kept, oldest first.
  std::vector<RolloutEvent> Recent() const;
  // See RolloutAdmin::WatchEvents().
  std::shared_ptr<void> Watch(std::function<void(const RolloutEvent&)> watch);

 private:
  using Watches = std::list<std::function<void(const RolloutEvent&)>>;

  CounterFamily* const decisions_;
  // Shared with the watchers, who may end later than this object.
  struct Shared {
    absl::Mutex mu;
    std::deque<RolloutEvent> recent ABSL_GUARDED_BY(mu);
    Watches watches ABSL_GUARDED_BY(mu);
  };
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace tessera::serving

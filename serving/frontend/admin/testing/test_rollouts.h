// TestRollouts: rollouts that exist in memory alone, for tests of what shows and steers them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "serving/rollout/rollout_admin.h"

namespace tessera::serving {

// Each model has a stable version, and may have a candidate. Each action is an event. Thread-safe.
class TestRollouts : public RolloutAdmin {
 public:
  // Sets the rollout of a model; `candidate` 0 is none.
  void Set(const std::string& model, int64_t stable, int64_t candidate);
  // Tells of an event.
  void Tell(const std::string& model, const std::string& kind);

  std::vector<RolloutStatus> Statuses() const override;
  absl::StatusOr<RolloutStatus> StatusOf(absl::string_view model) const override;
  absl::StatusOr<RolloutStatus> Promote(absl::string_view model, int64_t version) override;
  absl::StatusOr<RolloutStatus> Rollback(absl::string_view model, int64_t version) override;
  absl::StatusOr<RolloutStatus> Pause(absl::string_view model, int64_t version) override;
  absl::StatusOr<RolloutStatus> Resume(absl::string_view model, int64_t version) override;
  std::vector<RolloutEvent> RecentEvents() const override;
  std::shared_ptr<void> WatchEvents(Watch watch) override;

 private:
  // Returns the rollout of a model that has a candidate.
  absl::StatusOr<RolloutStatus*> Find(absl::string_view model, int64_t version)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellLocked(const std::string& model, const std::string& kind)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  std::map<std::string, RolloutStatus> models_ ABSL_GUARDED_BY(mu_);
  std::vector<RolloutEvent> events_ ABSL_GUARDED_BY(mu_);
  std::map<int, Watch> watches_ ABSL_GUARDED_BY(mu_);
  int next_watch_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace tessera::serving

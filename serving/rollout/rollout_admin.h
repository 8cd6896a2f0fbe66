// RolloutAdmin: rollouts as whoever looks at them or steers them by hand sees them. The admin front
// ends (gRPC, REST, dashboard) know this interface alone.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/rollout.pb.h"

namespace tessera::serving {

// Thread-safe. `version` is the candidate that the caller believes is tried; 0 leaves that open.
// Errors of the actions: NOT_FOUND for a model without a rollout; FAILED_PRECONDITION if there is
// nothing to act on or another version is the candidate by now.
class RolloutAdmin {
 public:
  virtual ~RolloutAdmin() = default;

  // Returns the status of each rollout, by model name.
  virtual std::vector<RolloutStatus> Statuses() const = 0;
  virtual absl::StatusOr<RolloutStatus> StatusOf(absl::string_view model) const = 0;

  virtual absl::StatusOr<RolloutStatus> Promote(absl::string_view model, int64_t version) = 0;
  virtual absl::StatusOr<RolloutStatus> Rollback(absl::string_view model, int64_t version) = 0;
  virtual absl::StatusOr<RolloutStatus> Pause(absl::string_view model, int64_t version) = 0;
  virtual absl::StatusOr<RolloutStatus> Resume(absl::string_view model, int64_t version) = 0;

  // Returns the latest events of all models, oldest first, at most a few hundred.
  virtual std::vector<RolloutEvent> RecentEvents() const = 0;
  // Calls `watch` for every later event, in order, until the returned object is destroyed. `watch`
  // must not wait and must not call this object.
  using Watch = std::function<void(const RolloutEvent&)>;
  [[nodiscard]] virtual std::shared_ptr<void> WatchEvents(Watch watch) = 0;
};

}  // namespace tessera::serving

// The stages of loading a model, and how long each takes.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace tessera {

using LoadStages = std::vector<std::pair<std::string, absl::Duration>>;

// Adds up how long the stages of a load take. Writes into `stages`, which must outlive it.
class StageTimer {
 public:
  explicit StageTimer(LoadStages* stages) : stages_(*stages) {}
  // Notes that the time since the last call was spent in `stage`.
  void End(absl::string_view stage) {
    const absl::Time now = absl::Now();
    auto found = std::find_if(stages_.begin(), stages_.end(),
                              [&](const auto& known) { return known.first == stage; });
    if (found == stages_.end()) {
      found = stages_.insert(found, {std::string(stage), absl::ZeroDuration()});
    }
    found->second += now - start_;
    start_ = now;
  }

 private:
  LoadStages& stages_;
  absl::Time start_ = absl::Now();
};

}  // namespace tessera

// LoadReport: how one try to load a version went, and what its time was spent on.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "serving/core/servable_id.h"

namespace tessera::serving {

// Names of stages and how long each took, in the order in which they first ran.
using LoadStages = std::vector<std::pair<std::string, absl::Duration>>;

struct LoadReport {
  ServableId id;
  absl::Time start;
  absl::Duration time;  // of the whole try; stages need not add up to it
  absl::Status status;  // why the try failed; OK if it did not
  // "estimate", which is the manager's own, then those of the loader.
  LoadStages stages;
};

using ReportLoad = std::function<void(const LoadReport& report)>;

}  // namespace tessera::serving

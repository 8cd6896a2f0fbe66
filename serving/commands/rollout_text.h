// Rollouts as a person reads them in a terminal.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "tessera/rollout.pb.h"

namespace tessera::serving {

// Returns a table with a line for each rollout, under a line of headings:
//
//   MODEL   PHASE  STABLE  CANDIDATE  SHARE  STEP  REJECTED
//   resnet  step        3          4   10 %   2/4  1, 2
std::string RolloutTable(absl::Span<const RolloutStatus> rollouts);

// Returns all about one rollout: its line of the table, what was measured of both versions side by
// side, and the last decision.
std::string RolloutDetails(const RolloutStatus& status);

// Returns an event on one line, which ends without a line feed: its time, model, version and
// reason.
std::string RolloutEventLine(const RolloutEvent& event, absl::TimeZone zone);

}  // namespace tessera::serving

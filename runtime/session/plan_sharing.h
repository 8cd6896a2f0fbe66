// Sessions that use the plans of other sessions on the same graph.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/exec/planner.h"
#include "runtime/session/session.h"

namespace tessera {

// Like Session::Create(), for a session that shares plans with others on `graph`, see KeptPlans. A
// session with devices besides a CPU shares none. Its FreezeVariables() takes the runs to be those
// of the first session that froze variables.
absl::StatusOr<std::unique_ptr<Session>> CreateSession(const SessionOptions& options,
                                                       std::shared_ptr<const Graph> graph,
                                                       std::shared_ptr<PlanReuse> reuse);

}  // namespace tessera

// Control edges that order nothing.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Drops a control edge if nobody can tell whether it is there: if what comes before it has no side
// effects, and either reads no state or what comes after has no side effects. Graphs with v1
// control flow, where control edges say what runs at all, stay as they are; so do edges into
// preserved nodes.
class PruneControlEdgesPass : public Pass {
 public:
  absl::string_view name() const override { return "prune_control_edges"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

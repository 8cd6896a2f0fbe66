// Removes control edges that have no effect.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Removes a control edge if its source has no side effects, and either the source reads no state or
// the destination has no side effects. Graphs with v1 control flow are not changed, because control
// edges decide there which nodes run; neither are edges into preserved nodes.
class PruneControlEdgesPass : public Pass {
 public:
  absl::string_view name() const override { return "prune_control_edges"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

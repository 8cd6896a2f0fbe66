// Removes nodes that give their inputs unchanged.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Connects the users of nodes that forward their inputs and do nothing else (ArgUse::kForwarded),
// of a Cast to the same type and of a Transpose that changes nothing, to the inputs of those nodes.
// Removes NoOps as well, and joins the control edges of what it removes, unless that would make
// more edges than there were.
//
// Some nodes stay: preserved ones; readers of references, since the variable is read when they run;
// nodes between devices; and, in v1 control flow, nodes whose control edges tell one branch from
// the other (Identity of a Switch) or that have control inputs for a Merge or Exit.
class RemoveNoOpsPass : public Pass {
 public:
  absl::string_view name() const override { return "remove_no_ops"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

// Nodes that pass on what they get.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Connects the users of Identity and its kin (StopGradient, Snapshot, Cast to the same type, a
// Transpose that changes nothing, ...) to what stands before, and takes out NoOps, with their
// control edges joined, unless that would make more edges than there were.
//
// Stays: preserved nodes; whatever reads a reference, since it is then that the variable is read;
// whatever stands between devices; and in v1 control flow, nodes by whose control edges a branch is
// told from the other (Identity of a Switch) or that hold control inputs for a Merge or Exit.
class RemoveNoOpsPass : public Pass {
 public:
  absl::string_view name() const override { return "remove_no_ops"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

// Removes control edges that have no effect.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Removes a control edge if its source has no side effects, and either the source reads no state or
// the destination has no side effects; and also if data orders whatever the edge does: the
// destination, and all that uses it, are without state and side effects until they meet what
// depends on the source anyway. An edge that alone puts an assertion before a node stays, since the
// node may fail, or take memory, where the assertion keeps it from running. TensorFlow's gradients
// are full of such edges: they delay the parts of a derivative until the gradient that these are
// multiplied by is there. Graphs with v1 control flow are not changed, because control edges decide
// there which nodes run; neither are edges into preserved nodes.
class PruneControlEdgesPass : public Pass {
 public:
  absl::string_view name() const override { return "prune_control_edges"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

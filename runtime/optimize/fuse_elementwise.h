// Fuses elementwise nodes into nodes that sweep over memory once.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces three or more connected elementwise nodes of floats by a _FusedElementwise, which takes
// in the Split nodes before them, the ConcatV2 nodes after them, and the comparisons that decide a
// SelectV2 among them and nothing else. No path between two nodes of
// such a group leaves it, so that the graph stays acyclic. Functions, their order and their
// roundings stay the same. Graphs with v1 control flow are left alone: a value that is dead must
// not make others dead.
//
// To run once, after all other passes: these look for the nodes that it takes away.
class FuseElementwisePass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_elementwise"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

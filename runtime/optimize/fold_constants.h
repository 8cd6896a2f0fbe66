// What depends on constants alone is computed once.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Runs the kernels of pure nodes whose inputs are all constants, and puts Consts in their place.
//
// Stays: nodes without a kernel or whose kernel fails (the run then says why); nodes with control
// inputs other than constants; results over 10 MiB, and results over 64 KiB that are more than
// twice as large as what they are computed from (Fill, Tile, Range), since they cost less to
// compute than to keep; resource and variant results.
//
// Pages that such constants were read from leave resident memory once nothing needs them.
class FoldConstantsPass : public Pass {
 public:
  absl::string_view name() const override { return "fold_constants"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

// The same for one node, whatever the size of its results. Returns whether it was replaced.
absl::StatusOr<bool> FoldNode(const OptimizationItem& item, Node* node);

}  // namespace tessera

// Computes once what depends on constants alone.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Runs the kernels of pure nodes whose inputs are all constants, and puts Consts in their place.
//
// These nodes are not folded:
// - nodes without a kernel, and nodes whose kernel fails: a run then reports the error;
// - nodes with control inputs other than constants;
// - nodes whose result is larger than 10 MiB, or larger than 64 KiB and more than four times as
//   large as the inputs (Fill, Tile, Range): such results cost less to compute than to keep;
// - nodes with resource or variant results.
//
// The mapped pages of constants that nothing needs any more leave resident memory.
class FoldConstantsPass : public Pass {
 public:
  absl::string_view name() const override { return "fold_constants"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

// Folds one node, whatever the size of its results. Returns whether it was replaced.
absl::StatusOr<bool> FoldNode(const OptimizationItem& item, Node* node);

}  // namespace tessera

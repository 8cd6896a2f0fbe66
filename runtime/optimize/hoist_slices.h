// Computes only those rows that a slice keeps.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// A classifier over a transformer reads one token of each text, y = x[:, 0], so that in the last
// layer most rows of its products are computed in vain; the gradient of the slice is zero in all
// other rows, which are then multiplied and added up. This pass moves such slices towards the
// inputs: the slice of a result is computed from slices of the operands. Gradients of slices are
// kept as the rows that are not zero, and multiplied by those rows of the other operand alone;
// where whole values are needed, zeros are put around them.
//
// Known to the pass are elementwise ops, products of matrices, reductions, softmax, biases,
// reshapes and transpositions, for slices of one index of an axis whose length is known. What is
// needed whole anyway is computed once, and sliced. The graph is left as it is unless a product
// becomes smaller.
//
// Rows that nothing reads do not matter to the results any more: an infinity or a NaN in one of
// them, which zeros times it would carry into the gradient of the weights, is not seen.
class HoistSlicesPass : public Pass {
 public:
  absl::string_view name() const override { return "hoist_slices"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

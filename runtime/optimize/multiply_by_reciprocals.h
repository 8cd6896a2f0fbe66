// Turns divisions by constants into products.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces x / c of floating and complex numbers by x * (1 / c) where c is a constant of the graph,
// and Xdivy by MulNoNan. The last bit of a quotient may differ, and what is rounded to integers
// behind it, such as the size of an image: TensorFlow's sessions compute it so, because Grappler's
// constant folding rewrites the division, and a model must round as it does there. A variable is no
// constant there, so that quotients by variables that are frozen here stay.
class MultiplyByReciprocalsPass : public Pass {
 public:
  absl::string_view name() const override { return "multiply_by_reciprocals"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

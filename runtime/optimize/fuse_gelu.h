// GELU from its pieces becomes one node.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// x * 0.5 * erfc(-x / sqrt(2)), x * 0.5 * (1 + erf(x / sqrt(2))) and
// x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), float, in whatever order they are
// multiplied: _Gelu, which fuse_post_ops may then take into a product.
// Source: Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv:1606.08415.
class FuseGeluPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_gelu"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

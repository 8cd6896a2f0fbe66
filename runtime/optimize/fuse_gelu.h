// Fuses the nodes of a GELU activation into one node.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces these float expressions, whatever the order of their factors, by _Gelu:
//   x * 0.5 * erfc(-x / sqrt(2))
//   x * 0.5 * (1 + erf(x / sqrt(2)))
//   x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
// fuse_post_ops may then make the _Gelu part of the product before it.
// Source: Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv:1606.08415.
class FuseGeluPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_gelu"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

// Scales of weights go into the convolutions that read them.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// A Conv2D or _FusedConv2D whose constant filter goes through a _ScaleWeights becomes a
// _FusedConv2D that takes filter and scale, and multiplies them while it packs the filter: a copy
// of the scaled weights would be as large again, and stay. Where the weights are needed by anything
// else, they become a constant.
class AbsorbScalesPass : public Pass {
 public:
  absl::string_view name() const override { return "absorb_scales"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

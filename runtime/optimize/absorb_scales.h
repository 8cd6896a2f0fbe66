// Moves the scale of a filter into the convolution that reads the filter.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces a Conv2D or _FusedConv2D whose constant filter is scaled by a _ScaleWeights node with a
// _FusedConv2D that takes the filter and the scale. The convolution multiplies the two while it
// packs the filter, which saves a second copy of the weights. A _ScaleWeights node that has other
// users is folded into a constant.
class AbsorbScalesPass : public Pass {
 public:
  absl::string_view name() const override { return "absorb_scales"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

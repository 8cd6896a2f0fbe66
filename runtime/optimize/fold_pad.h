// Folds padding with zeros into the convolution or pooling that reads the padded image.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Matches a Pad of rows and columns by constant amounts, followed by a Conv2D or
// DepthwiseConv2dNative in NHWC with VALID or EXPLICIT padding, and lets the convolution pad. Does
// the same for a MaxPool whose input is padded after a Relu or Relu6: these give no values below
// the zeros of the padding.
class FoldPadPass : public Pass {
 public:
  absl::string_view name() const override { return "fold_pad"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

// Padding with zeros goes into the window that slides over it.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Pad with constant amounts of rows and columns, then Conv2D or DepthwiseConv2dNative (NHWC, VALID
// or EXPLICIT padding): the convolution pads by itself. The same for MaxPool after Relu or Relu6,
// whose results are never below the zeros that were padded.
class FoldPadPass : public Pass {
 public:
  absl::string_view name() const override { return "fold_pad"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

// Turns the loops of recurrent layers into one op each.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces a While over the steps of a sequence, whose body is the cell of an LSTM or of a GRU that
// resets after the product, by _LstmLoop or _GruLoop. The products with the input are then made for
// all steps at once. The sequence may be a list, or a tensor of which each step takes a slice, as
// JAX's scan is translated. Loops with masks, of other cells, activations or dtypes, loops that
// record what a gradient needs, and weights of unknown shape stay as they are.
class FuseRecurrencePass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_recurrence"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

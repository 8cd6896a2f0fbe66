// Turns the loops of an LSTM that is trained, and of its gradient, into one op each.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces a While over the steps of a sequence whose body is the cell of an LSTM and records its
// values in lists, and the While that takes them from there backwards, as TensorFlow writes the
// gradient of the first, by _LstmTraining and _LstmGradient. The gradient of the recurrent weights
// is then one product over all steps. Taken are loops whose products with the input are made before
// them, and which hand on their last states only.
class FuseRecurrenceGradientPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_recurrence_gradient"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

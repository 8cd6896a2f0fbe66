// Variables that nothing writes any more become constants.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces reads of frozen variables (see OptimizationItem::is_frozen) by their present values:
// ReadVariableOp of a VarHandleOp, which ResourceGather becomes a GatherV2 for, and every plain use
// of a VariableV2's or Variable's reference.
// The constants share the variables' memory. Variables without a value, and those that a node of
// the graph itself may write, stay as they are.
class FreezeVariablesPass : public Pass {
 public:
  absl::string_view name() const override { return "freeze_variables"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

// Makes constants of variables that nothing writes any more.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces reads of frozen variables (see OptimizationItem::is_frozen) by their present values.
// These are ReadVariableOps and ResourceGathers of a VarHandleOp, the latter of which become
// GatherV2s, and all uses of a VariableV2 or Variable that take a plain tensor. The constants share
// the memory of the variables. A variable without a value stays as it is, and so does one with a
// user that does not declare to only read it (ArgUse::kRead).
class FreezeVariablesPass : public Pass {
 public:
  absl::string_view name() const override { return "freeze_variables"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

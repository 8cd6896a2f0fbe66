// Replaces calls of functions by the bodies of the functions.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Inlines PartitionedCall, StatefulPartitionedCall, and nodes whose op is a function. If, While and
// Case are not inlined: their branches are programs of their own.
//
// The guarantees of a call are kept. Nothing in the body that reads or writes state runs before the
// control inputs of the call. The side effects of the body run whenever the call would have run,
// and before any node that waits for the call or uses a result of it. The new nodes are named
// "call/node"; resources and summaries that were named after a node of the body keep their names.
//
// Not inlined are functions marked `_noinline`, recursive functions, functions and callers with v1
// control flow, whose frames and dead values would mix, and calls that would make the graph too
// large.
class InlineFunctionsPass : public Pass {
 public:
  absl::string_view name() const override { return "inline_functions"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

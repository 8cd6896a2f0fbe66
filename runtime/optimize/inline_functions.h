// Calls become the nodes that they call.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Puts the bodies of called functions in the place of the calls: PartitionedCall,
// StatefulPartitionedCall, and nodes whose op is a function. If, While and Case stay: their bodies
// are programs of their own.
//
// What the call promised still holds: nothing in the body that reads or writes state runs before
// the call's control inputs; its side effects run whenever the call would have run, and before
// anyone who waits for the call or uses a result. Nodes are named "call/node"; resources that were
// named after a node of the body keep that name.
//
// Stays a call: a function marked `_noinline`, recursion, functions and callers with v1 control
// flow, whose frames and dead values would mix, and whatever would make the graph too large.
class InlineFunctionsPass : public Pass {
 public:
  absl::string_view name() const override { return "inline_functions"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

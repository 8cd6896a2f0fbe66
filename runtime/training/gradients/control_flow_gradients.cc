// Gradients of identities and of v1 control flow. A loop as a whole is the matter of
// loop_gradient.h, calls of functions that of function_gradients.cc.
#include "runtime/training/gradients/differentiation.h"
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// Gradients pass as they are, sparse ones too.
void PassOn(GradientOp& op) { op.Set(0, op.gradient(0)); }

REGISTER_GRADIENT("Identity", PassOn);
REGISTER_GRADIENT("RefIdentity", PassOn);
REGISTER_GRADIENT("DebugGradientIdentity", PassOn);
REGISTER_GRADIENT("DebugGradientRefIdentity", PassOn);
REGISTER_GRADIENT("PlaceholderWithDefault", PassOn);
REGISTER_GRADIENT("Print", PassOn);
REGISTER_GRADIENT("ReadVariableOp", PassOn);
REGISTER_GRADIENT("EnsureShape", PassOn);
REGISTER_GRADIENT("CheckNumerics", [](GradientOp& op) {
  op.Set(0, Call("CheckNumerics", {op.dy()},
                 {{"message", "NaN or infinity in the gradient of a CheckNumerics node"}}));
});
REGISTER_GRADIENT("CheckNumericsV2", [](GradientOp& op) {
  op.Set(0, Call("CheckNumericsV2", {op.dy()},
                 {{"message", "NaN or infinity in the gradient of a CheckNumericsV2 node"}}));
});
REGISTER_GRADIENT("IdentityN", [](GradientOp& op) {
  for (int i = 0; i < op.num_inputs(); ++i) op.Set(i, op.gradient(i));
});
REGISTER_GRADIENT("PreventGradient", [](GradientOp& op) {
  const std::string message = op.attr<std::string>("message");
  op.Fail(absl::InvalidArgumentError("gradients are prevented here: " + message));
});
// A custom gradient is not known any more once the graph is exported; the op is an identity.
REGISTER_NO_GRADIENT("StopGradient");

// The gradient of a value that enters a loop is set with the loop.
REGISTER_GRADIENT("Enter", PassOn);
REGISTER_GRADIENT("RefEnter", PassOn);

// Returns the gradient of output `i` of a Switch; zeros if there is none. A handle of a variable
// has the gradient of the variable's value, whose dtype that of the other output tells.
Expr BranchGradient(GradientOp& op, int i) {
  if (op.HasDy(i) || op.out(i).dtype() != DType::kResource) return op.dy(i);
  const Expr zero = op.build().Scalar(op.dy(1 - i).dtype(), 0);
  return Call("Fill", {Call("VariableShape", {op.out(i)}, {{"out_type", DType::kInt32}}), zero});
}

// The branch that was not taken has dead gradients.
void SwitchGradient(GradientOp& op) {
  op.Set(0, Call("Merge", {BranchGradient(op, 0), BranchGradient(op, 1)}));
}
REGISTER_GRADIENT("Switch", SwitchGradient);
REGISTER_GRADIENT("RefSwitch", SwitchGradient);

void MergeGradient(GradientOp& op) {
  const std::optional<ConditionBranch> first =
      op.differentiation().conditions().FirstInputOf(*op.node());
  if (!first.has_value()) {
    op.Fail(absl::UnimplementedError("the condition that it closes cannot be told"));
    return;
  }
  const std::vector<Expr> branches =
      CallAll("Switch", {{op.dy(), op.build().Of(first->predicate)}});
  if (branches.empty()) return;
  op.Set(0, branches[first->taken ? 1 : 0]);
  op.Set(1, branches[first->taken ? 0 : 1]);
}
REGISTER_GRADIENT("Merge", MergeGradient);
REGISTER_GRADIENT("RefMerge", MergeGradient);

}  // namespace
}  // namespace tessera

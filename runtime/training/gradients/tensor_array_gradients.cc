// Gradients of TensorArrays: each has a gradient array, whose reads and writes are the other's
// writes and reads. The flow, a scalar without meaning, keeps them in order.
#include "runtime/training/gradients/differentiation.h"
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// The gradient array of the array that input 0 names, and its flow.
struct GradientArray {
  Expr handle, flow;
};
GradientArray ArrayOf(GradientOp& op, const Expr& flow) {
  // All accesses of one AddGradients() share an array; its sums are not those of another call.
  const std::vector<Expr> outputs =
      CallAll("TensorArrayGradV3", {{op.in(0), flow}}, {{"source", op.differentiation().name()}});
  if (outputs.empty()) return {};
  return {outputs[0], Call("Identity", {outputs[1]})};
}

REGISTER_GRADIENT("TensorArrayReadV3", [](GradientOp& op) {
  const GradientArray array = ArrayOf(op, op.in(2));
  op.Set(2, Call("TensorArrayWriteV3", {array.handle, op.in(1), op.dy(), array.flow}));
});
REGISTER_GRADIENT("TensorArrayWriteV3", [](GradientOp& op) {
  const Expr dflow = op.dy();
  const GradientArray array = ArrayOf(op, dflow);
  op.Set(2, Call("TensorArrayReadV3", {array.handle, op.in(1), array.flow},
                 {{"dtype", op.in(2).dtype()}}));
  op.Set(3, dflow);
});
REGISTER_GRADIENT("TensorArrayGatherV3", [](GradientOp& op) {
  const GradientArray array = ArrayOf(op, op.in(2));
  op.Set(2, Call("TensorArrayScatterV3", {array.handle, op.in(1), op.dy(), array.flow}));
});
REGISTER_GRADIENT("TensorArrayScatterV3", [](GradientOp& op) {
  const Expr dflow = op.dy();
  const GradientArray array = ArrayOf(op, dflow);
  op.Set(2, Call("TensorArrayGatherV3", {array.handle, op.in(1), array.flow},
                 {{"dtype", op.in(2).dtype()}}));
  op.Set(3, dflow);
});
REGISTER_GRADIENT("TensorArrayConcatV3", [](GradientOp& op) {
  const GradientArray array = ArrayOf(op, op.in(1));
  op.Set(1, Call("TensorArraySplitV3", {array.handle, op.dy(0), op.out(1), array.flow}));
});
REGISTER_GRADIENT("TensorArraySplitV3", [](GradientOp& op) {
  const Expr dflow = op.dy();
  const GradientArray array = ArrayOf(op, dflow);
  op.Set(1, Call("TensorArrayConcatV3", {array.handle, array.flow}, {{"dtype", op.in(1).dtype()}}));
  op.Set(3, dflow);
});
REGISTER_NO_GRADIENT("TensorArrayV3");
REGISTER_NO_GRADIENT("TensorArrayGradV3");
REGISTER_NO_GRADIENT("TensorArraySizeV3");
REGISTER_NO_GRADIENT("TensorArrayCloseV3");

}  // namespace
}  // namespace tessera

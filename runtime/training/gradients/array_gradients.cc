// Gradients of ops that move elements.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// ---- shapes ----

void ReshapeGradient(GradientOp& op) { op.Set(0, Reshape(op.dy(), ShapeOf(op.in(0)))); }
REGISTER_GRADIENT("Reshape", ReshapeGradient);
REGISTER_GRADIENT("ExpandDims", ReshapeGradient);
REGISTER_GRADIENT("Squeeze", ReshapeGradient);
REGISTER_GRADIENT("Transpose", [](GradientOp& op) {
  op.Set(0, Call("Transpose", {op.dy(), Call("InvertPermutation", {op.in(1)})}));
});
REGISTER_GRADIENT("ConjugateTranspose", [](GradientOp& op) {
  op.Set(0, Call("ConjugateTranspose", {op.dy(), Call("InvertPermutation", {op.in(1)})}));
});
REGISTER_GRADIENT("BroadcastTo", [](GradientOp& op) {
  const Expr shape = ShapeOf(op.in(0), op.in(1).dtype());
  const Expr axes = Call("BroadcastGradientArgs", {shape, ShapeOf(op.out(), op.in(1).dtype())});
  op.Set(0, Reshape(SumOver(op.dy(), axes), shape));
});
REGISTER_GRADIENT("Fill", [](GradientOp& op) {
  const Expr dy = op.dy();
  const Expr axes = Call("Range", {op.build().Int(0), Call("Rank", {dy}), op.build().Int(1)});
  op.Set(1, SumOver(dy, axes));
});
// The input is repeated along a new dimension before each of its own.
REGISTER_GRADIENT("Tile", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr shape = ShapeOf(op.in(0)), multiples = CastTo(op.in(1), DType::kInt32);
  const Expr split = Reshape(Call("Pack", {multiples, shape}, {{"axis", 1}}), build.Ints({-1}));
  const Expr axes = Call("Range", {build.Int(0), Call("Size", {split}), build.Int(2)});
  op.Set(0, Reshape(SumOver(Reshape(op.dy(), split), axes), shape));
});

// ---- joining and splitting ----

REGISTER_GRADIENT("XlaSharding", [](GradientOp& op) { op.Set(0, op.dy()); });

REGISTER_GRADIENT("Pack", [](GradientOp& op) {
  const std::vector<Expr> parts = CallAll(
      "Unpack", {{op.dy()}}, {{"num", op.attr<int64_t>("N")}, {"axis", op.attr<int64_t>("axis")}});
  for (size_t i = 0; i < parts.size(); ++i) op.Set(static_cast<int>(i), parts[i]);
});
REGISTER_GRADIENT("Unpack", [](GradientOp& op) {
  std::vector<Expr> parts;
  for (int i = 0; i < op.num_outputs(); ++i) parts.push_back(op.dy(i));
  op.Set(0, Call("Pack", parts, {{"axis", op.attr<int64_t>("axis")}}));
});

void ConcatGradient(GradientOp& op, int first, int axis_input) {
  const int count = op.num_inputs() - 1;
  const Expr dy = op.dy();
  if (count == 1) return op.Set(first, dy);
  std::vector<Expr> shapes;
  for (int i = 0; i < count; ++i) shapes.push_back(op.in(first + i));
  shapes = CallAll("ShapeN", shapes);
  if (shapes.empty()) return;
  const Expr rank = Call("Rank", {dy});
  std::vector<Expr> offset_inputs = {
      Call("FloorMod", {CastTo(op.in(axis_input), DType::kInt32) + rank, rank})};
  offset_inputs.insert(offset_inputs.end(), shapes.begin(), shapes.end());
  const std::vector<Expr> offsets = CallAll("ConcatOffset", offset_inputs);
  for (int i = 0; i < count && !offsets.empty(); ++i) {
    if (op.Wants(first + i)) op.Set(first + i, Call("Slice", {dy, offsets[i], shapes[i]}));
  }
}
REGISTER_GRADIENT("Concat", [](GradientOp& op) { ConcatGradient(op, 1, 0); });
REGISTER_GRADIENT("ConcatV2", [](GradientOp& op) { ConcatGradient(op, 0, op.num_inputs() - 1); });

Expr JoinedGradients(GradientOp& op, const Expr& axis) {
  std::vector<Expr> inputs;
  for (int i = 0; i < op.num_outputs(); ++i) inputs.push_back(op.dy(i));
  if (inputs.size() == 1) return inputs[0];
  inputs.push_back(axis);
  return Call("ConcatV2", inputs);
}
REGISTER_GRADIENT("Split", [](GradientOp& op) { op.Set(1, JoinedGradients(op, op.in(0))); });
REGISTER_GRADIENT("SplitV", [](GradientOp& op) { op.Set(0, JoinedGradients(op, op.in(2))); });

// ---- padding and slicing ----

// Cuts what was padded.
Expr WithoutPadding(GradientOp& op) {
  const Expr x = op.in(0), paddings = CastTo(op.in(1), DType::kInt32);
  GraphBuilder& build = op.build();
  const Expr rank = Call("Rank", {x});
  const Expr column =
      Call("Slice", {paddings, build.Ints({0, 0}), Call("Pack", {rank, build.Int(1)})});
  return Call("Slice", {op.dy(), Reshape(column, build.Ints({-1})), ShapeOf(x)});
}
REGISTER_GRADIENT("Pad", [](GradientOp& op) { op.Set(0, WithoutPadding(op)); });
REGISTER_GRADIENT("PadV2", [](GradientOp& op) {
  const Expr dx = WithoutPadding(op);
  op.Set(0, dx);
  if (!op.Wants(2)) return;
  GraphBuilder& build = op.build();
  auto total = [&](const Expr& x) {
    return SumOver(Reshape(x, build.Ints({-1})), build.Ints({0}));
  };
  op.Set(2, total(op.dy()) - total(dx));
});
REGISTER_GRADIENT("MirrorPad", [](GradientOp& op) {
  op.Set(0, op.CallAlike("MirrorPadGrad", {op.dy(), op.in(1)}));
});
REGISTER_GRADIENT("MirrorPadGrad", [](GradientOp& op) {
  op.Set(0, op.CallAlike("MirrorPad", {op.dy(), op.in(1)}));
});
REGISTER_GRADIENT("Slice", [](GradientOp& op) {
  const DType index = op.in(1).dtype();
  const Expr before = op.in(1);
  const Expr after = ShapeOf(op.in(0), index) - ShapeOf(op.out(), index) - before;
  op.Set(0, Call("Pad", {op.dy(), Call("Pack", {before, after}, {{"axis", 1}})}));
});
REGISTER_GRADIENT("StridedSlice", [](GradientOp& op) {
  const Expr begin = op.in(1);
  op.Set(0, op.CallAlike("StridedSliceGrad",
                         {ShapeOf(op.in(0), begin.dtype()), begin, op.in(2), op.in(3), op.dy()}));
});
REGISTER_GRADIENT("StridedSliceGrad", [](GradientOp& op) {
  op.Set(4, op.CallAlike("StridedSlice", {op.dy(), op.in(1), op.in(2), op.in(3)}));
});
// The value may have been broadcast to the slice.
REGISTER_GRADIENT("TensorStridedSliceUpdate", [](GradientOp& op) {
  const Expr dy = op.dy();
  const Expr d_slice = op.CallAlike("StridedSlice", {dy, op.in(1), op.in(2), op.in(3)});
  op.Set(0, op.CallAlike("TensorStridedSliceUpdate",
                         {dy, op.in(1), op.in(2), op.in(3), ZerosLike(d_slice)}));
  if (!op.Wants(4)) return;
  const Expr shape = ShapeOf(op.in(4));
  const Expr axes = Call("BroadcastGradientArgs", {shape, ShapeOf(d_slice)});
  op.Set(4, Reshape(SumOver(d_slice, axes), shape));
});

// ---- order ----

void ReverseGradient(GradientOp& op) {
  op.Set(0, op.CallAlike(op.node()->op_name(), {op.dy(), op.in(1)}));
}
REGISTER_GRADIENT("Reverse", ReverseGradient);
REGISTER_GRADIENT("ReverseV2", ReverseGradient);
REGISTER_GRADIENT("ReverseSequence", ReverseGradient);
REGISTER_GRADIENT("Roll", [](GradientOp& op) {
  op.Set(0, Call("Roll", {op.dy(), -op.in(1), op.in(2)}));
});

// ---- blocks ----

REGISTER_GRADIENT("SpaceToBatch", [](GradientOp& op) {
  op.Set(0, op.CallAlike("BatchToSpace", {op.dy(), op.in(1)}, {{"Tidx", op.in(1).dtype()}}));
});
REGISTER_GRADIENT("BatchToSpace", [](GradientOp& op) {
  op.Set(0, op.CallAlike("SpaceToBatch", {op.dy(), op.in(1)}, {{"Tpaddings", op.in(1).dtype()}}));
});
REGISTER_GRADIENT("SpaceToBatchND", [](GradientOp& op) {
  op.Set(0, Call("BatchToSpaceND", {op.dy(), op.in(1), op.in(2)}));
});
REGISTER_GRADIENT("BatchToSpaceND", [](GradientOp& op) {
  op.Set(0, Call("SpaceToBatchND", {op.dy(), op.in(1), op.in(2)}));
});
REGISTER_GRADIENT("SpaceToDepth",
                  [](GradientOp& op) { op.Set(0, op.CallAlike("DepthToSpace", {op.dy()})); });
REGISTER_GRADIENT("DepthToSpace",
                  [](GradientOp& op) { op.Set(0, op.CallAlike("SpaceToDepth", {op.dy()})); });

// Each element of the patches comes from one of the image, whose number the same op tells; those of
// the padding come from none.
void ExtractPatchesGradient(GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr x = op.in(0);
  const Expr shape = ShapeOf(x);
  const Expr one_image = Concat({{build.Ints({1}), SliceVector(shape, 1, 0)}}, 0);
  const Expr size = Call("Prod", {one_image, build.Int(0)});
  const Expr numbers = Call("Range", {build.Int(1), size + build.Int(1), build.Int(1)});
  const Expr sources =
      op.CallAlike(op.node()->op_name(), {Reshape(numbers, one_image)}, {{"T", DType::kInt32}}) -
      build.Int(1);
  const Expr batch = SliceVector(shape, 0, 1);
  const Expr rows = Reshape(op.dy(), Concat({{batch, build.Ints({-1})}}, 0));
  const Expr columns = Call("Transpose", {rows, build.Ints({1, 0})});
  const Expr sum = Call("UnsortedSegmentSum", {columns, Reshape(sources, build.Ints({-1})), size});
  op.Set(0, Reshape(Call("Transpose", {sum, build.Ints({1, 0})}), shape));
}
REGISTER_GRADIENT("ExtractImagePatches", ExtractPatchesGradient);
REGISTER_GRADIENT("ExtractVolumePatches", ExtractPatchesGradient);

}  // namespace
}  // namespace tessera

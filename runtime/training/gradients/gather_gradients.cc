// Gradients of what picks elements by indices, or puts them there.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// The slices that a lookup of rows gave the gradient `dy`.
void SetRows(GradientOp& op, const Expr& params_shape) {
  GraphBuilder& build = op.build();
  const Expr row_shape = SliceVector(params_shape, 1, 0);
  const Expr indices = op.in(1);
  const Expr count = ExpandDims(Call("Size", {indices}), 0);
  const Expr values = Reshape(op.dy(), Concat({{count, row_shape}}, 0));
  op.SetSlices(0, values, Reshape(indices, build.Ints({-1})), params_shape);
}
REGISTER_GRADIENT("Gather", [](GradientOp& op) { SetRows(op, ShapeOf(op.in(0))); });

// Returns the constant value of a scalar that is an input; -1 if it is not constant or not
// positive.
int64_t NonNegativeConstant(const Expr& x) {
  const auto value = x.endpoint().node->attr<Tensor>("value");
  if (!x.endpoint().node->IsOp("Const") || !value.ok() || value->num_elements() != 1) return -1;
  return value->dtype() == DType::kInt64 ? value->scalar<int64_t>() : value->scalar<int32_t>();
}

// With dimensions ordered as batch, indices, outer, inner: sums the rows of `dy` for each batch and
// index, and brings the indexed dimension back between outer and inner.
void GatherAlongAxis(GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr params = op.in(0), indices = op.in(1), dy = op.dy();
  const Expr shape = ShapeOf(params), rank = Call("Rank", {params});
  const Expr indices_rank = Call("Rank", {indices});
  const int64_t batch_attr = op.attr<int64_t>("batch_dims");
  const Expr one = build.Int(1), zero = build.Int(0);
  const Expr batch_count = build.Int(static_cast<int32_t>(batch_attr));
  const Expr batch = batch_attr < 0 ? batch_count + indices_rank : batch_count;
  const Expr axis = Call("FloorMod", {CastTo(op.in(2), DType::kInt32) + rank, rank});
  auto range = [&](const Expr& from, const Expr& to) { return Call("Range", {from, to, one}); };
  auto product = [&](const Expr& begin, const Expr& end) {
    return Call("Prod", {Call("GatherV2", {shape, range(begin, end), zero}), zero});
  };
  // dy is [batch, outer, indices, inner].
  const Expr batches = product(zero, batch), outer = product(batch, axis);
  const Expr inner = product(axis + one, rank);
  const Expr length = Call("GatherV2", {shape, axis, zero});
  const Expr per_batch = Call("Prod", {SliceVector(ShapeOf(indices), 0, 0), zero});
  const Expr picked = Call("FloorDiv", {per_batch, Call("Maximum", {batches, one})});
  const Expr grouped =
      Call("Transpose",
           {Reshape(dy, Call("Pack", {batches, outer, picked, inner})), build.Ints({0, 2, 1, 3})});
  const Expr starts = ExpandDims(Call("Range", {zero, batches, one}) * length, 1);
  const Expr ids = Reshape(CastTo(indices, DType::kInt32), Call("Pack", {batches, picked}));
  const Expr rows = Reshape(grouped, Call("Pack", {batches * picked, outer, inner}));
  const Expr sum =
      Call("UnsortedSegmentSum", {rows, Reshape(ids + starts, build.Ints({-1})), batches * length});
  const Expr split = Reshape(sum, Call("Pack", {batches, length, outer, inner}));
  op.Set(0, Reshape(Call("Transpose", {split, build.Ints({0, 2, 1, 3})}), shape));
}
REGISTER_GRADIENT("GatherV2", [](GradientOp& op) {
  if (op.attr<int64_t>("batch_dims") == 0 && NonNegativeConstant(op.in(2)) == 0) {
    SetRows(op, ShapeOf(op.in(0)));
  } else {
    GatherAlongAxis(op);
  }
});
REGISTER_GRADIENT("ResourceGather", [](GradientOp& op) {
  if (op.attr<int64_t>("batch_dims") != 0) {
    op.Fail(absl::UnimplementedError("batch_dims of ResourceGather must be 0"));
    return;
  }
  SetRows(op, Call("VariableShape", {op.in(0)}));
});

// Indices that are a column are numbers of rows, whose gradients stay slices.
void GatherNdGradient(GradientOp& op, const Expr& params_shape) {
  const Expr indices = op.in(1);
  const PartialShape shape = op.StaticShape(indices);
  if (shape.rank() == 2 && shape.dim(1) == 1) {
    op.SetSlices(0, op.dy(), Reshape(indices, op.build().Ints({-1})), params_shape);
  } else {
    op.Set(0, Call("ScatterNd", {indices, op.dy(), params_shape}));
  }
}
REGISTER_GRADIENT("GatherNd", [](GradientOp& op) {
  GatherNdGradient(op, ShapeOf(op.in(0), op.in(1).dtype()));
});
REGISTER_GRADIENT("ResourceGatherNd", [](GradientOp& op) {
  GatherNdGradient(op, Call("VariableShape", {op.in(0)}, {{"out_type", op.in(1).dtype()}}));
});

Expr GatherNd(const Expr& params, const Expr& indices) {
  return Call("GatherNd", {params, indices});
}
REGISTER_GRADIENT("ScatterNd", [](GradientOp& op) { op.Set(1, GatherNd(op.dy(), op.in(0))); });
void ScatterAddGradient(GradientOp& op) {
  const Expr dy = op.dy();
  op.Set(0, dy);
  if (op.Wants(2)) op.Set(2, GatherNd(dy, op.in(1)));
}
REGISTER_GRADIENT("ScatterNdNonAliasingAdd", ScatterAddGradient);
REGISTER_GRADIENT("TensorScatterAdd", ScatterAddGradient);
REGISTER_GRADIENT("TensorScatterSub", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.Set(0, dy);
  if (op.Wants(2)) op.Set(2, -GatherNd(dy, op.in(1)));
});
REGISTER_GRADIENT("TensorScatterUpdate", [](GradientOp& op) {
  const Expr dy = op.dy(), indices = op.in(1);
  op.Set(0, Call("TensorScatterUpdate", {dy, indices, ZerosLike(op.in(2))}));
  if (op.Wants(2)) op.Set(2, GatherNd(dy, indices));
});
// The gradient goes to whatever equals the result, in equal parts.
void ScatterExtremumGradient(GradientOp& op) {
  const Expr tensor = op.in(0), indices = op.in(1), updates = op.in(2), y = op.out();
  const Expr dy = op.dy();
  const Expr is_kept = CastTo(Call("Equal", {y, tensor}), dy.dtype());
  const Expr is_update = CastTo(Call("Equal", {updates, GatherNd(y, indices)}), dy.dtype());
  const Expr count = Call("TensorScatterAdd", {is_kept, indices, is_update});
  op.Set(0, dy * (is_kept / count));
  op.Set(2, GatherNd(dy / count, indices) * is_update);
}
REGISTER_GRADIENT("TensorScatterMax", ScatterExtremumGradient);
REGISTER_GRADIENT("TensorScatterMin", ScatterExtremumGradient);

REGISTER_GRADIENT("DynamicPartition", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr data = op.in(0), partitions = op.in(1);
  const Expr count = Call("Size", {partitions});
  const Expr positions =
      Reshape(Call("Range", {build.Int(0), count, build.Int(1)}), ShapeOf(partitions));
  std::vector<Expr> inputs = CallAll("DynamicPartition", {{positions, partitions}},
                                     {{"num_partitions", op.attr<int64_t>("num_partitions")}});
  for (int i = 0; i < op.num_outputs(); ++i) inputs.push_back(op.dy(i));
  const Expr joined = Call("DynamicStitch", inputs, {{"N", op.num_outputs()}});
  op.Set(0, Reshape(joined, ShapeOf(data)));
});
void StitchGradient(GradientOp& op) {
  const int count = op.num_inputs() / 2;
  const Expr dy = op.dy();
  for (int i = 0; i < count; ++i) {
    if (!op.Wants(count + i)) continue;
    op.Set(count + i, Call("GatherV2", {dy, op.in(i), op.build().Int(0)}));
  }
}
REGISTER_GRADIENT("DynamicStitch", StitchGradient);
REGISTER_GRADIENT("ParallelDynamicStitch", StitchGradient);

}  // namespace
}  // namespace tessera

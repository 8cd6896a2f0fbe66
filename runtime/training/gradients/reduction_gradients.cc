// Gradients of reductions, scans, segment reductions, and of what sorts.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// The shape of the input of a reduction with the reduced dimensions set to 1: to it a result
// without them is reshaped before it is broadcast.
Expr KeptShape(GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr shape = ShapeOf(op.in(0));
  const Expr rank = Call("Rank", {op.in(0)});
  const Expr axes = Reshape(CastTo(op.in(1), DType::kInt32), build.Ints({-1}));
  const Expr axes_from_front = Call("FloorMod", {axes + rank, rank});
  const Expr all = Call("Range", {build.Int(0), rank, build.Int(1)});
  return Call("DynamicStitch", {all, axes_from_front, shape, OnesLike(axes_from_front)},
              {{"N", 2}});
}

// Gives `reduced`, of the shape of the output, the rank of the input.
Expr WithKeptAxes(GradientOp& op, const Expr& reduced) {
  return op.attr<bool>("keep_dims") ? reduced : Reshape(reduced, KeptShape(op));
}

// Repeats `reduced` over the reduced dimensions.
Expr Expanded(GradientOp& op, const Expr& reduced) {
  return Call("BroadcastTo", {WithKeptAxes(op, reduced), ShapeOf(op.in(0))});
}

REGISTER_GRADIENT("Sum", [](GradientOp& op) { op.Set(0, Expanded(op, op.dy())); });
REGISTER_GRADIENT("Mean", [](GradientOp& op) {
  const Expr count = Call(
      "FloorDiv",
      {Call("Size", {op.in(0)}), Call("Maximum", {Call("Size", {op.out()}), op.build().Int(1)})});
  const Expr dy = op.dy();
  op.Set(0, Expanded(op, dy / CastTo(count, dy.dtype())));
});

// Equal extrema share the gradient.
void ExtremumGradient(GradientOp& op) {
  const Expr x = op.in(0);
  const Expr y = WithKeptAxes(op, op.out()), dy = WithKeptAxes(op, op.dy());
  const Expr chosen = CastTo(Call("Equal", {y, x}), x.dtype());
  const Expr count = SumOver(chosen, op.in(1), /*keep_dims=*/true);
  op.Set(0, chosen / count * dy);
}
REGISTER_GRADIENT("Max", ExtremumGradient);
REGISTER_GRADIENT("Min", ExtremumGradient);

// The product of all others is the product of those before and those behind, which is right where
// elements are 0. The reduced dimensions become the last one for it.
REGISTER_GRADIENT("Prod", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr x = op.in(0);
  const Expr shape = ShapeOf(x), rank = Call("Rank", {x});
  const Expr axes = Reshape(CastTo(op.in(1), DType::kInt32), build.Ints({-1}));
  const Expr reduced = Call("FloorMod", {axes + rank, rank});
  const Expr all = Call("Range", {build.Int(0), rank, build.Int(1)});
  const Expr others = Call("ListDiff", {all, reduced});
  const Expr order = Concat({{reduced, others}}, 0);
  auto product = [&](const Expr& which) {
    return Call("Prod", {Call("GatherV2", {shape, which, build.Int(0)}), build.Int(0)});
  };
  const Expr permuted = Call("Transpose", {x, order});
  const Expr columns = Reshape(permuted, Call("Pack", {product(reduced), product(others)}));
  auto scan = [&](bool reverse) {
    return Call("Cumprod", {columns, build.Int(0)}, {{"exclusive", true}, {"reverse", reverse}});
  };
  const Expr rest = Reshape(Conjugate(scan(false)) * Conjugate(scan(true)), ShapeOf(permuted));
  op.Set(0, Expanded(op, op.dy()) * Call("Transpose", {rest, Call("InvertPermutation", {order})}));
});
REGISTER_GRADIENT("EuclideanNorm", [](GradientOp& op) {
  op.Set(0, op.in(0) / (WithKeptAxes(op, op.out()) / WithKeptAxes(op, op.dy())));
});

Expr Scan(GradientOp& op, absl::string_view name, const Expr& x) {
  return Call(name, {x, op.in(1)},
              {{"exclusive", op.attr<bool>("exclusive")}, {"reverse", !op.attr<bool>("reverse")}});
}
REGISTER_GRADIENT("Cumsum", [](GradientOp& op) { op.Set(0, Scan(op, "Cumsum", op.dy())); });
REGISTER_GRADIENT("Cumprod", [](GradientOp& op) {
  op.Set(0, Call("DivNoNan", {Scan(op, "Cumsum", op.out() * op.dy()), op.in(0)}));
});
REGISTER_GRADIENT("CumulativeLogsumexp", [](GradientOp& op) {
  // In the logarithm, where positive and negative gradients are added up apart.
  const Expr x = op.in(0), y = op.out(), dy = op.dy();
  auto part = [&](const Expr& positive) {
    const Expr zero = op.build().Scalar(dy.dtype(), 0);
    const double lowest = dy.dtype() == DType::kDouble ? -1.7976931348623157e308
                          : dy.dtype() == DType::kHalf ? -65504
                                                       : -3.4028234663852886e38;
    const Expr log = Where(Call("Greater", {positive, zero}), Call("Log", {positive}),
                           op.build().Scalar(dy.dtype(), lowest));
    return Call("Exp", {Scan(op, "CumulativeLogsumexp", log - y) + x});
  };
  op.Set(0, part(dy) - part(-dy));
});

// ---- segments ----

Expr Gather(const Expr& params, const Expr& indices) {
  return params.empty() ? params : Call("GatherV2", {params, indices, params.builder()->Int(0)});
}

REGISTER_GRADIENT("SegmentSum", [](GradientOp& op) { op.Set(0, Gather(op.dy(), op.in(1))); });
REGISTER_GRADIENT("SegmentMean", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr x = op.in(0), ids = op.in(1);
  const Expr ranks = Call("Fill", {ExpandDims(Call("Rank", {x}) - build.Int(1), 0), build.Int(1)});
  const Expr ones_shape = Concat({{ShapeOf(ids), ranks}}, 0);
  const Expr ones = Call("Fill", {ones_shape, build.Scalar(op.dy().dtype(), 1)});
  const Expr count = Call("SegmentSum", {ones, ids});
  op.Set(0, Gather(op.dy() / count, ids));
});
void SegmentExtremumGradient(GradientOp& op) {
  const Expr x = op.in(0), ids = op.in(1);
  const Expr chosen = Call("Equal", {x, Gather(op.out(), ids)});
  const Expr count = Call("SegmentSum", {CastTo(chosen, x.dtype()), ids});
  const Expr spread = Gather(op.dy() / count, ids);
  op.Set(0, Where(chosen, spread, ZerosLike(spread)));
}
REGISTER_GRADIENT("SegmentMax", SegmentExtremumGradient);
REGISTER_GRADIENT("SegmentMin", SegmentExtremumGradient);

// Rows of ids below 0 were dropped, and get 0.
struct DroppedRows {
  Expr ids;      // with 0 instead of what is below
  Expr is_kept;  // of the rank of the rows
};
DroppedRows FindDroppedRows(const Expr& rows, const Expr& ids) {
  GraphBuilder& build = *ids.builder();
  const Expr zero = build.Scalar(ids.dtype(), 0);
  const Expr is_kept = Call("GreaterEqual", {ids, zero});
  const Expr missing = ExpandDims(Call("Rank", {rows}) - Call("Rank", {ids}), 0);
  const Expr shape = Concat({{ShapeOf(ids), Call("Fill", {missing, build.Int(1)})}}, 0);
  return {Call("Maximum", {ids, zero}), Reshape(is_kept, shape)};
}
Expr GatherKept(const Expr& params, const Expr& rows, const Expr& ids) {
  const DroppedRows dropped = FindDroppedRows(rows, ids);
  const Expr gathered = Gather(params, dropped.ids);
  return Where(dropped.is_kept, gathered, ZerosLike(gathered));
}
REGISTER_GRADIENT("UnsortedSegmentSum",
                  [](GradientOp& op) { op.Set(0, GatherKept(op.dy(), op.in(0), op.in(1))); });
void UnsortedSegmentExtremumGradient(GradientOp& op) {
  const Expr x = op.in(0), ids = op.in(1);
  const DroppedRows dropped = FindDroppedRows(x, ids);
  const Expr chosen =
      Call("LogicalAnd", {Call("Equal", {x, Gather(op.out(), dropped.ids)}), dropped.is_kept});
  const Expr count = Call("UnsortedSegmentSum", {CastTo(chosen, x.dtype()), ids, op.in(2)});
  const Expr spread = Gather(op.dy() / count, dropped.ids);
  op.Set(0, Where(chosen, spread, ZerosLike(spread)));
}
REGISTER_GRADIENT("UnsortedSegmentMax", UnsortedSegmentExtremumGradient);
REGISTER_GRADIENT("UnsortedSegmentMin", UnsortedSegmentExtremumGradient);

// Returns the product of the other elements of each segment, for each element: the segment's
// product without zeros divided by the element; for a zero, that product if it is the only zero.
Expr ProductOfOthers(GradientOp& op, const Expr& ids, const Expr& num_segments) {
  const Expr x = op.in(0);
  const Expr zero = op.build().Scalar(x.dtype(), 0);
  const Expr is_zero = Call("Equal", {x, zero});
  const Expr zeros =
      Call("UnsortedSegmentSum", {CastTo(is_zero, DType::kInt32), op.in(1), num_segments});
  const Expr one = op.build().Int(1);
  const Expr without_zeros =
      Call("UnsortedSegmentProd", {Where(is_zero, OnesLike(x), x), op.in(1), num_segments});
  // For an element that is not zero: the whole product divided by it.
  const Expr whole =
      Where(Call("Greater", {zeros, op.build().Int(0)}), ZerosLike(without_zeros), without_zeros);
  const Expr others = Where(Call("Greater", {zeros, one}), ZerosLike(without_zeros), without_zeros);
  return Where(is_zero, Gather(others, ids), Gather(whole, ids) / Where(is_zero, OnesLike(x), x));
}
REGISTER_GRADIENT("UnsortedSegmentProd", [](GradientOp& op) {
  const DroppedRows dropped = FindDroppedRows(op.in(0), op.in(1));
  const Expr gradient = Gather(op.dy(), dropped.ids) * ProductOfOthers(op, dropped.ids, op.in(2));
  op.Set(0, Where(dropped.is_kept, gradient, ZerosLike(gradient)));
});
REGISTER_GRADIENT("SegmentProd", [](GradientOp& op) {
  const Expr ids = op.in(1);
  const Expr num_segments = SliceVector(ShapeOf(op.out()), 0, 1);
  op.Set(0, Gather(op.dy(), ids) * ProductOfOthers(op, ids, Call("Squeeze", {num_segments})));
});

// ---- what picks elements of the last dimension ----

// Puts `dy` at the positions `indices` of the last dimension of zeros of the shape of `x`.
Expr ScatterLast(const Expr& x, const Expr& indices, const Expr& dy) {
  GraphBuilder& build = *x.builder();
  const Expr shape = ShapeOf(x);
  const Expr length = Call("Squeeze", {SliceVector(shape, -1, 0)});
  const Expr picked = Call("Squeeze", {SliceVector(ShapeOf(indices), -1, 0)});
  const Expr rows = Reshape(indices, Call("Pack", {build.Int(-1), picked}));
  const Expr count = Call("Squeeze", {SliceVector(ShapeOf(rows), 0, 1)});
  const Expr starts = ExpandDims(Call("Range", {build.Int(0), count, build.Int(1)}) * length, 1);
  const Expr flat = Reshape(CastTo(rows, DType::kInt32) + starts, build.Ints({-1, 1}));
  const Expr size = ExpandDims(Call("Size", {x}), 0);
  return Reshape(Call("ScatterNd", {flat, Reshape(dy, build.Ints({-1})), size}), shape);
}
void TopKGradient(GradientOp& op) { op.Set(0, ScatterLast(op.in(0), op.out(1), op.dy(0))); }
REGISTER_GRADIENT("TopK", TopKGradient);
REGISTER_GRADIENT("TopKV2", TopKGradient);
// Reduces any dimension, which is made the last one.
REGISTER_GRADIENT("ApproxTopK", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const auto dimension = static_cast<int32_t>(op.attr<int64_t>("reduction_dimension"));
  const Expr rank = Call("Rank", {op.in(0)}), one = build.Int(1);
  const Expr reduced = dimension < 0 ? rank + build.Int(dimension) : build.Int(dimension);
  const Expr before = Call("Range", {build.Int(0), reduced, one});
  const Expr after = Call("Range", {reduced + one, rank, one});
  const Expr to_last = Concat({{before, after, ExpandDims(reduced, 0)}}, 0);
  const auto moved = [&](const Expr& x) { return Call("Transpose", {x, to_last}); };
  const Expr dx = ScatterLast(moved(op.in(0)), moved(op.out(1)), moved(op.dy(0)));
  const Expr shifted = Call("Range", {reduced, rank - one, one});
  op.Set(0, Call("Transpose", {dx, Concat({{before, ExpandDims(rank - one, 0), shifted}}, 0)}));
});
REGISTER_GRADIENT("NthElement", [](GradientOp& op) {
  const Expr y = ExpandDims(op.out(), -1), dy = ExpandDims(op.dy(), -1);
  const Expr chosen = CastTo(Call("Equal", {y, op.in(0)}), dy.dtype());
  const Expr count = ExpandDims(SumOver(chosen, op.build().Int(-1)), -1);
  op.Set(0, chosen / count * dy);
});

}  // namespace
}  // namespace tessera

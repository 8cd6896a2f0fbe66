// Gradients of ops on sparse tensors: indices, values, shape.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

Expr Gather(const Expr& params, const Expr& indices) {
  return params.empty() ? params : Call("GatherV2", {params, indices, params.builder()->Int(0)});
}
Expr GatherNd(const Expr& params, const Expr& indices) {
  return Call("GatherNd", {params, indices});
}
// Column `i` of the indices.
Expr Column(const Expr& indices, int i) {
  if (indices.empty()) return indices;
  return Call("GatherV2", {indices, indices.builder()->Int(i), indices.builder()->Int(1)});
}

// ---- segments of rows picked by indices ----

// The number of rows of the data from which rows are picked.
Expr NumRows(GradientOp& op) { return Call("Squeeze", {SliceVector(ShapeOf(op.in(0)), 0, 1)}); }
// Sums the rows `dy` of the segments back into the rows of the data that were picked.
void PickedSegmentGradient(GradientOp& op, const Expr& dy) {
  op.Set(0, Call("UnsortedSegmentSum", {Gather(dy, op.in(2)), op.in(1), NumRows(op)}));
}
// Makes slices of the rows that were picked, if the op asks for them: embedding lookups do.
// `gradient` is the op that sums the rows. Returns false if the op does not ask.
bool SetPickedRows(GradientOp& op, absl::string_view gradient) {
  if (!op.attr<bool>("sparse_gradient")) return false;
  const std::vector<Expr> rows = CallAll(gradient, {op.dy(), op.in(1), op.in(2), NumRows(op)});
  op.SetSlices(0, rows[0], rows[1], ShapeOf(op.in(0)));
  return true;
}
// The number of rows in each segment, shaped to divide the rows of `dy`; at least 1.
Expr SegmentSizes(GradientOp& op, const Expr& dy) {
  GraphBuilder& build = op.build();
  const Expr ids = op.in(2), shape = ShapeOf(dy);
  const Expr segments = Call("Squeeze", {SliceVector(shape, 0, 1)});
  const Expr ones = Call("Fill", {ShapeOf(ids), build.Scalar(dy.dtype(), 1)});
  const Expr sizes = Call(
      "Maximum", {Call("UnsortedSegmentSum", {ones, ids, segments}), build.Scalar(dy.dtype(), 1)});
  const Expr rest = OnesLike(SliceVector(shape, 1, 0));
  return Reshape(sizes, Concat({{SliceVector(shape, 0, 1), rest}}, 0));
}
void PickedSum(GradientOp& op) {
  if (!SetPickedRows(op, "SparseSegmentSumGradV2")) PickedSegmentGradient(op, op.dy());
}
void PickedMean(GradientOp& op) {
  if (SetPickedRows(op, "SparseSegmentMeanGradV2")) return;
  PickedSegmentGradient(op, op.dy() / SegmentSizes(op, op.dy()));
}
void PickedSqrtN(GradientOp& op) {
  if (SetPickedRows(op, "SparseSegmentSqrtNGradV2")) return;
  PickedSegmentGradient(op, op.dy() * Call("Rsqrt", {SegmentSizes(op, op.dy())}));
}
REGISTER_GRADIENT("SparseSegmentSum", PickedSum);
REGISTER_GRADIENT("SparseSegmentSumWithNumSegments", PickedSum);
REGISTER_GRADIENT("SparseSegmentMean", PickedMean);
REGISTER_GRADIENT("SparseSegmentMeanWithNumSegments", PickedMean);
REGISTER_GRADIENT("SparseSegmentSqrtN", PickedSqrtN);
REGISTER_GRADIENT("SparseSegmentSqrtNWithNumSegments", PickedSqrtN);

// ---- sparse and dense ----

REGISTER_GRADIENT("SparseTensorDenseMatMul", [](GradientOp& op) {
  const bool adjoint_a = op.attr<bool>("adjoint_a"), adjoint_b = op.attr<bool>("adjoint_b");
  const Expr indices = op.in(0), values = op.in(1), b = op.in(3), dy = op.dy();
  if (op.Wants(1)) {
    const Expr rows = Column(indices, adjoint_a ? 1 : 0),
               columns = Column(indices, adjoint_a ? 0 : 1);
    // Row i of dy times row j of b, or of its adjoint, for each (i, j) that has a value.
    const Expr rows_of_b =
        Conjugate(adjoint_b ? Call("ConjugateTranspose", {b, op.build().Ints({1, 0})}) : b);
    const Expr products = Gather(dy, rows) * Gather(rows_of_b, columns);
    const Expr sum = SumOver(products, op.build().Int(1));
    op.Set(1, adjoint_a ? Conjugate(sum) : sum);
  }
  if (op.Wants(3)) {
    const Expr d = Call("SparseTensorDenseMatMul", {indices, values, op.in(2), dy},
                        {{"adjoint_a", !adjoint_a}});
    op.Set(3, adjoint_b ? Call("ConjugateTranspose", {d, op.build().Ints({1, 0})}) : d);
  }
});
REGISTER_GRADIENT("SparseTensorDenseAdd", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.Set(1, GatherNd(dy, op.in(0)));
  op.Set(3, dy);
});
REGISTER_GRADIENT("SparseToDense", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr dy = op.dy();
  const Expr d_values = GatherNd(dy, op.in(0));
  op.Set(2, d_values);
  auto total = [&](const Expr& x) {
    return SumOver(Reshape(x, build.Ints({-1})), build.Ints({0}));
  };
  if (op.Wants(3)) op.Set(3, total(dy) - total(d_values));
});
// Divides the indices of the input by how much longer it is than the output in each dimension.
REGISTER_GRADIENT("SparseReduceSum", [](GradientOp& op) {
  const Expr indices = op.in(0), shape = op.in(2);
  GraphBuilder& build = op.build();
  const Expr rank = Call("Size", {shape});
  const Expr axes = Reshape(op.in(3), build.Ints({-1}));
  const Expr from_front = Call("FloorMod", {axes + rank, rank});
  const Expr all = Call("Range", {build.Int(0), rank, build.Int(1)});
  const Expr kept =
      Call("DynamicStitch", {all, from_front, shape, OnesLike(CastTo(from_front, shape.dtype()))},
           {{"N", 2}});
  const Expr factor = Call("FloorDiv", {shape, kept});
  op.Set(1, GatherNd(Reshape(op.dy(), kept), Call("FloorDiv", {indices, factor})));
});
REGISTER_GRADIENT("SparseReorder", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr indices = op.in(0);
  const Expr count = Call("Squeeze", {SliceVector(ShapeOf(indices), 0, 1)});
  const Expr numbers = Call("Range", {build.Int(0), count, build.Int(1)});
  const Expr order = Call("SparseReorder", {indices, numbers, op.in(2)}, {}, 1);
  op.Set(1, Gather(op.dy(1), Call("InvertPermutation", {order})));
});
REGISTER_GRADIENT("SparseSoftmax", [](GradientOp& op) {
  const Expr indices = op.in(0), shape = op.in(2), y = op.out(), dy = op.dy();
  const Expr sum = -Call("SparseReduceSum", {indices, y * dy, shape, op.build().Ints({-1})},
                         {{"keep_dims", true}});
  op.Set(1, Call("SparseDenseCwiseAdd", {indices, dy, shape, sum}) * y);
});

REGISTER_GRADIENT("SparseFillEmptyRows", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr dy = op.dy(1);
  const Expr d_values = Gather(dy, op.out(3));
  op.Set(1, d_values);
  if (op.Wants(3)) op.Set(3, SumOver(dy, build.Ints({0})) - SumOver(d_values, build.Ints({0})));
});
// The values within the limits, in their order, are those of the output.
REGISTER_GRADIENT("SparseSlice", [](GradientOp& op) {
  const Expr indices = op.in(0), values = op.in(1), start = op.in(3);
  const Expr is_inside = Call("LogicalAnd", {Call("GreaterEqual", {indices, start}),
                                             Call("Less", {indices, start + op.in(4)})});
  const Expr is_kept = Call("All", {is_inside, op.build().Ints({1})});
  op.Set(1,
         Call("ScatterNd", {Call("Where", {is_kept}), op.dy(1), ShapeOf(values, DType::kInt64)}));
});

// The dense operand of an op on a sparse tensor, to whose shape it is broadcast. A lower rank
// counts as dimensions of size 1 in front.
class DenseOperand {
 public:
  explicit DenseOperand(GradientOp& op)
      : op_(op), shape_(ShapeOf(op.in(3), DType::kInt64)), full_(FullShape()) {
    indices_ = Call("FloorDiv", {op.in(0), Call("FloorDiv", {op.in(2), full_})});
  }

  // Returns the elements that stand at the indices of the sparse tensor.
  Expr Elements() const { return GatherNd(Reshape(op_.in(3), full_), indices_); }

  // Sets the gradient of the operand, given that of Elements().
  void SetGradient(const Expr& d_elements) {
    op_.Set(3, Reshape(Call("ScatterNd", {indices_, d_elements, full_}), shape_));
  }

 private:
  Expr FullShape() const {
    const Expr missing = ExpandDims(Call("Size", {op_.in(2)}) - Call("Size", {shape_}), 0);
    const Expr ones = Call("Fill", {missing, op_.build().Scalar(DType::kInt64, 1)});
    return Concat({{ones, shape_}}, 0);
  }

  GradientOp& op_;
  Expr shape_, full_, indices_;
};
REGISTER_GRADIENT("SparseDenseCwiseMul", [](GradientOp& op) {
  DenseOperand dense(op);
  op.Set(1, op.dy() * dense.Elements());
  if (op.Wants(3)) dense.SetGradient(op.dy() * op.in(1));
});
REGISTER_GRADIENT("SparseDenseCwiseDiv", [](GradientOp& op) {
  DenseOperand dense(op);
  const Expr divisors = dense.Elements();
  op.Set(1, op.dy() / divisors);
  if (op.Wants(3)) dense.SetGradient(-(op.dy() * op.in(1) / Call("Square", {divisors})));
});
REGISTER_GRADIENT("SparseDenseCwiseAdd", [](GradientOp& op) {
  op.Set(1, op.dy());
  if (op.Wants(3)) DenseOperand(op).SetGradient(op.dy());
});

REGISTER_GRADIENT("SparseAdd", [](GradientOp& op) {
  const std::vector<Expr> d = CallAll("SparseAddGrad", {{op.dy(1), op.in(0), op.in(3), op.out(0)}});
  if (d.empty()) return;
  op.Set(1, d[0]);
  op.Set(4, d[1]);
});

}  // namespace
}  // namespace tessera

// Gradients of matrix products.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// The names of the attributes that say whether an operand is transposed, or its adjoint taken.
struct ProductAttrs {
  absl::string_view a, b;
};

// For y = op(a) op(b): gives the gradients as products by `op_name`. With adjoints instead of
// transposes, operands need no conjugation.
struct ProductGradients {
  Expr da, db;
};
ProductGradients GradientsOfProduct(GradientOp& op, absl::string_view op_name, ProductAttrs attrs,
                                    bool conjugate, AttrMap more) {
  const bool ta = op.attr<bool>(attrs.a), tb = op.attr<bool>(attrs.b);
  const Expr a = conjugate ? Conjugate(op.in(0)) : op.in(0);
  const Expr b = conjugate ? Conjugate(op.in(1)) : op.in(1);
  const Expr dy = op.dy();
  auto product = [&](const Expr& left, const Expr& right, bool transpose_left,
                     bool transpose_right) {
    AttrMap all = more;
    all.emplace(attrs.a, transpose_left);
    all.emplace(attrs.b, transpose_right);
    return Call(op_name, {left, right}, std::move(all));
  };
  ProductGradients gradients;
  if (op.Wants(0)) {
    gradients.da = ta ? product(b, dy, tb, true) : product(dy, b, false, !tb);
  }
  if (op.Wants(1)) {
    gradients.db = tb ? product(dy, a, true, ta) : product(a, dy, !ta, false);
  }
  return gradients;
}

REGISTER_GRADIENT("MatMul", [](GradientOp& op) {
  const ProductGradients gradients =
      GradientsOfProduct(op, "MatMul", {"transpose_a", "transpose_b"}, /*conjugate=*/true, {});
  op.Set(0, gradients.da);
  op.Set(1, gradients.db);
});
// The product of matrices with many zeros, in any of its dtypes, is a plain product.
REGISTER_GRADIENT("SparseMatMul", [](GradientOp& op) {
  const bool ta = op.attr<bool>("transpose_a"), tb = op.attr<bool>("transpose_b");
  const Expr a = CastTo(op.in(0), DType::kFloat), b = CastTo(op.in(1), DType::kFloat);
  const Expr dy = op.dy();
  auto product = [](const Expr& left, const Expr& right, bool transpose_left,
                    bool transpose_right) {
    return Call("MatMul", {left, right},
                {{"transpose_a", transpose_left}, {"transpose_b", transpose_right}});
  };
  op.Set(0, CastTo(ta ? product(b, dy, tb, true) : product(dy, b, false, !tb), op.in(0).dtype()));
  op.Set(1, CastTo(tb ? product(dy, a, true, ta) : product(a, dy, !ta, false), op.in(1).dtype()));
});
REGISTER_GRADIENT("BatchMatMul", [](GradientOp& op) {
  const ProductGradients gradients =
      GradientsOfProduct(op, "BatchMatMul", {"adj_x", "adj_y"}, /*conjugate=*/false, {});
  op.Set(0, gradients.da);
  op.Set(1, gradients.db);
});

// Sums over the dimensions of the batch along which an operand was repeated.
void SetBatchBroadcast(GradientOp& op, const ProductGradients& gradients) {
  const PartialShape a = op.StaticShape(op.in(0)), b = op.StaticShape(op.in(1));
  bool same_batch = a.known_rank() && b.known_rank() && a.rank() == b.rank();
  for (int i = 0; same_batch && i < a.rank() - 2; ++i) {
    same_batch = a.dim(i) == b.dim(i) && a.dim(i) > 0;
  }
  if (same_batch) {
    op.Set(0, gradients.da);
    op.Set(1, gradients.db);
    return;
  }
  const Expr shape_a = ShapeOf(op.in(0)), shape_b = ShapeOf(op.in(1));
  const std::vector<Expr> axes = CallAll(
      "BroadcastGradientArgs", {{SliceVector(shape_a, 0, -2), SliceVector(shape_b, 0, -2)}});
  if (axes.empty()) return;
  if (op.Wants(0)) op.Set(0, Reshape(SumOver(gradients.da, axes[0]), shape_a));
  if (op.Wants(1)) op.Set(1, Reshape(SumOver(gradients.db, axes[1]), shape_b));
}
REGISTER_GRADIENT("BatchMatMulV2", [](GradientOp& op) {
  SetBatchBroadcast(op, GradientsOfProduct(op, "BatchMatMulV2", {"adj_x", "adj_y"},
                                           /*conjugate=*/false, {}));
});
REGISTER_GRADIENT("BatchMatMulV3", [](GradientOp& op) {
  SetBatchBroadcast(op, GradientsOfProduct(op, "BatchMatMulV3", {"adj_x", "adj_y"},
                                           /*conjugate=*/false, {{"Tout", op.in(0).dtype()}}));
});

}  // namespace
}  // namespace tessera

// Gradients of ops on compressed sparse row (CSR) matrices. The gradient of such a matrix is one of
// the same elements.
#include "absl/strings/str_cat.h"
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// Indices, values and dense shape of a CSR matrix.
std::vector<Expr> Elements(const Expr& matrix, DType dtype) {
  return CallAll("CSRSparseMatrixToSparseTensor", {{matrix}}, {{"type", dtype}});
}

REGISTER_GRADIENT("DenseToCSRSparseMatrix", [](GradientOp& op) {
  op.Set(0, Call("CSRSparseMatrixToDense", {op.dy()}, {{"type", op.attr<DType>("T")}}));
});
REGISTER_GRADIENT("CSRSparseMatrixToDense", [](GradientOp& op) {
  const Expr dy = op.dy();
  const std::vector<Expr> x = Elements(op.in(0), dy.dtype());
  if (x.empty()) return;
  op.Set(0, Call("SparseTensorToCSRSparseMatrix",
                 {x[0], Call("GatherNd", {dy, x[0]}), ShapeOf(dy, DType::kInt64)}));
});
REGISTER_GRADIENT("SparseTensorToCSRSparseMatrix", [](GradientOp& op) {
  const std::vector<Expr> d = Elements(op.dy(), op.attr<DType>("T"));
  if (!d.empty()) op.Set(1, d[1]);
});
REGISTER_GRADIENT("CSRSparseMatrixToSparseTensor", [](GradientOp& op) {
  op.Set(0, Call("SparseTensorToCSRSparseMatrix", {op.out(0), op.dy(1), op.out(2)}));
});
REGISTER_GRADIENT("SparseMatrixTranspose", [](GradientOp& op) {
  op.Set(0, op.CallAlike("SparseMatrixTranspose", {op.dy()}));
});

// What happens to a matrix before it is multiplied.
struct Form {
  bool is_transposed = false, is_conjugated = false;
};
Form FormOf(GradientOp& op, absl::string_view operand) {
  const bool adjoint = op.attr<bool>(absl::StrCat("adjoint_", operand));
  return {adjoint || op.attr<bool>(absl::StrCat("transpose_", operand)), adjoint};
}

// Swaps the last two dimensions of a dense matrix, or of a batch of them.
Expr Transposed(const Expr& x) {
  GraphBuilder& build = *x.builder();
  const Expr two = build.Int(2);
  const Expr outer = Call("Range", {build.Int(0), Call("Rank", {x}) - two, build.Int(1)});
  const Expr last = Call("Rank", {x}) - build.Ints({1, 2});
  return Call("Transpose", {x, Concat({{outer, last}}, 0)});
}
Expr Formed(const Expr& x, const Form& form) {
  const Expr conjugated = form.is_conjugated ? Conjugate(x) : x;
  return form.is_transposed ? Transposed(conjugated) : conjugated;
}

// The product C = a b of a CSR matrix and a dense one, each in its form. With dC, a has the
// gradient dC b^H where it has elements, and b the gradient a^H dC.
REGISTER_GRADIENT("SparseMatrixMatMul", [](GradientOp& op) {
  const Form form_a = FormOf(op, "a"), form_b = FormOf(op, "b");
  const Expr a = op.in(0);
  Expr dy = op.dy();
  if (op.attr<bool>("conjugate_output")) dy = Conjugate(dy);
  if (op.attr<bool>("transpose_output")) dy = Transposed(dy);
  const std::vector<Expr> elements = Elements(a, dy.dtype());
  if (elements.empty()) return;
  if (op.Wants(0)) {
    // Element (i, j) of a: row i of dC times row j of b, conjugated; the last two columns of its
    // index are i and j, those before them the batch.
    const Expr b = Conjugate(Formed(op.in(1), form_b));
    GraphBuilder& build = op.build();
    const Expr indices = elements[0];
    const Expr rank = Call("Size", {elements[2]});
    const Expr batch = Call("Range", {build.Int(0), rank - build.Int(2), build.Int(1)});
    const auto rows = [&](const Expr& matrix, int from_end) {
      const Expr column = ExpandDims(rank - build.Int(from_end), 0);
      const Expr columns = Concat({{batch, column}}, 0);
      return Call("GatherNd", {matrix, Call("GatherV2", {indices, columns, build.Int(1)})});
    };
    const bool swap = form_a.is_transposed;
    const Expr values = SumOver(rows(dy, swap ? 1 : 2) * rows(b, swap ? 2 : 1), build.Int(-1));
    op.Set(0, Call("SparseTensorToCSRSparseMatrix",
                   {indices, form_a.is_conjugated ? Conjugate(values) : values, elements[2]}));
  }
  if (op.Wants(1)) {
    // a^T dC = conj(a^H conj(dC)).
    const bool conjugate = !form_a.is_conjugated == form_a.is_transposed;
    const Expr d = Call("SparseMatrixMatMul", {a, conjugate ? Conjugate(dy) : dy},
                        {{"adjoint_a", !form_a.is_transposed}, {"conjugate_output", conjugate}});
    op.Set(1, Formed(d, form_b));
  }
});

// The elements of a CSR matrix where `pattern` has elements, zeros included.
Expr Pruned(const Expr& matrix, const Expr& pattern, DType dtype) {
  const std::vector<Expr> kept = Elements(pattern, dtype);
  if (kept.empty()) return Expr();
  const Expr dense = Call("CSRSparseMatrixToDense", {matrix}, {{"type", dtype}});
  return Call("SparseTensorToCSRSparseMatrix",
              {kept[0], Call("GatherNd", {dense, kept[0]}), kept[2]});
}

// The product C = a b of two CSR matrices, each in its form: its operands have the gradients
// dC b^H and a^H dC, in the forms that undo theirs, where they have elements.
REGISTER_GRADIENT("SparseMatrixSparseMatMul", [](GradientOp& op) {
  const DType type = op.attr<DType>("type");
  const auto formed = [&](const Expr& x, const Form& form) {
    if (!form.is_transposed) return x;
    return Call("SparseMatrixTranspose", {x}, {{"conjugate", form.is_conjugated}, {"type", type}});
  };
  const auto product = [&](const Expr& x, const Expr& y, const char* adjoint) {
    return Call("SparseMatrixSparseMatMul", {x, y}, {{adjoint, true}, {"type", type}});
  };
  const Form form_a = FormOf(op, "a"), form_b = FormOf(op, "b");
  if (op.Wants(0)) {
    const Expr d = product(op.dy(), formed(op.in(1), form_b), "adjoint_b");
    op.Set(0, Pruned(formed(d, form_a), op.in(0), type));
  }
  if (op.Wants(1)) {
    const Expr d = product(formed(op.in(0), form_a), op.dy(), "adjoint_a");
    op.Set(1, Pruned(formed(d, form_b), op.in(1), type));
  }
});

}  // namespace
}  // namespace tessera

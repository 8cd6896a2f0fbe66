// Linear algebra: cholesky and triangular_solve.
#include <utility>

#include "runtime/stablehlo/linear_algebra.h"

namespace tessera::stablehlo {
namespace {

// The attribute `transpose_a`, as the VHLO dialect numbers its values.
enum Transposition { kNoTranspose = 1, kAdjoint = 3 };

// The dtype that computes for `dtype`: float for shorter ones.
DType ComputedIn(DType dtype) { return IsLinearType(dtype) ? dtype : DType::kFloat; }

bool IsMatrix(const Type& type) {
  return type.rank() >= 2 && (IsFloating(type.dtype) || IsComplex(type.dtype));
}

void Cholesky(Translator& t, const Operation& op) {
  const Type& type = t.type(op.operands[0]);
  if (!IsMatrix(type)) return t.Fail("its operand is no such matrix");
  const Expr x = CastTo(t.Full(op.operands[0]), ComputedIn(type.dtype));
  const Expr factors = CholeskyFactors(t, x, type.rank(), t.BoolAttr(op, "lower"));
  t.Set(op.results[0], CastTo(factors, type.dtype));
}

void TriangularSolve(Translator& t, const Operation& op) {
  if (op.operands.size() != 2) return t.Fail("it has another number of operands");
  const Type& type = t.type(op.operands[0]);
  const Type& sides = t.type(op.operands[1]);
  if (!IsMatrix(type) || sides.rank() != type.rank() || sides.dtype != type.dtype) {
    return t.Fail("its operands are no such matrices");
  }
  const DType computed = ComputedIn(type.dtype);
  const int64_t transposition = t.IntAttr(op, "transpose_a");
  const Expr x = Solution(t, {.matrix = CastTo(t.Full(op.operands[0]), computed),
                              .sides = CastTo(t.Full(op.operands[1]), computed),
                              .rank = type.rank(),
                              .left = t.BoolAttr(op, "left_side"),
                              .lower = t.BoolAttr(op, "lower"),
                              .unit_diagonal = t.BoolAttr(op, "unit_diagonal"),
                              .transpose = transposition != kNoTranspose,
                              .conjugate = transposition == kAdjoint});
  t.Set(op.results[0], CastTo(x, type.dtype));
}

constexpr NamedHandler kHandlers[] = {
    {"cholesky", Cholesky},
    {"triangular_solve", TriangularSolve},
};

}  // namespace

bool IsLinearType(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || IsComplex(dtype);
}

Expr TransposedMatrices(Translator& t, const Expr& x, int rank) {
  Dims order = Ascending(0, rank);
  std::swap(order[rank - 2], order[rank - 1]);
  return t.Transposed(x, order);
}

Expr AdjointMatrices(Translator& t, const Expr& x, int rank) {
  return TransposedMatrices(t, Conjugate(x), rank);
}

Expr CholeskyFactors(Translator& t, const Expr& x, int rank, bool lower) {
  if (lower) return Call("Cholesky", {x});
  return AdjointMatrices(t, Call("Cholesky", {AdjointMatrices(t, x, rank)}), rank);
}

Expr Solution(Translator& t, TriangularSystem system) {
  Expr matrix = system.matrix, sides = system.sides;
  if (matrix.empty() || sides.empty()) return {};
  if (system.unit_diagonal) {
    matrix = Call("MatrixSetDiag", {matrix, OnesLike(Call("MatrixDiagPart", {matrix}))});
  }
  // The transpose of x op(matrix) = sides has the unknown on the right.
  const bool transpose = system.transpose == system.left;
  if (!system.left) sides = TransposedMatrices(t, sides, system.rank);
  // The op conjugates what it transposes.
  if (system.conjugate != transpose) matrix = Conjugate(matrix);
  const Expr x = Call("MatrixTriangularSolve", {matrix, sides},
                      {{"lower", system.lower}, {"adjoint", transpose}});
  return system.left ? x : TransposedMatrices(t, x, system.rank);
}

absl::Span<const NamedHandler> LinearAlgebraHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo

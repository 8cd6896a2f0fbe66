// Gradients of diagonals, factorisations and solvers.
#include <cstdlib>
#include <numeric>

#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

Expr Product(const Expr& a, const Expr& b, bool adjoint_a = false, bool adjoint_b = false) {
  return Call("BatchMatMulV2", {a, b}, {{"adj_x", adjoint_a}, {"adj_y", adjoint_b}});
}
// The conjugate transpose of each matrix.
Expr Adjoint(const Expr& x) {
  if (x.empty()) return x;
  GraphBuilder& build = *x.builder();
  const Expr rank = Call("Rank", {x});
  const Expr outer = Call("Range", {build.Int(0), rank - build.Int(2), build.Int(1)});
  const Expr order =
      Concat({{outer, ExpandDims(rank - build.Int(1), 0), ExpandDims(rank - build.Int(2), 0)}}, 0);
  return Call("ConjugateTranspose", {x, order});
}
Expr LowerPart(const Expr& x) {
  if (x.empty()) return x;
  return Call("MatrixBandPart", {x, x.builder()->Int(-1), x.builder()->Int(0)});
}
Expr Diagonal(const Expr& x) { return Call("MatrixDiagPart", {x}); }
Expr FromDiagonal(const Expr& x) { return Call("MatrixDiag", {x}); }
Expr WithDiagonal(const Expr& x, const Expr& diagonal) {
  return Call("MatrixSetDiag", {x, diagonal});
}

// ---- diagonals ----

REGISTER_GRADIENT("Diag", [](GradientOp& op) { op.Set(0, Call("DiagPart", {op.dy()})); });
REGISTER_GRADIENT("DiagPart", [](GradientOp& op) { op.Set(0, Call("Diag", {op.dy()})); });
REGISTER_GRADIENT("MatrixDiag", [](GradientOp& op) { op.Set(0, Diagonal(op.dy())); });
REGISTER_GRADIENT("MatrixDiagPart",
                  [](GradientOp& op) { op.Set(0, WithDiagonal(ZerosLike(op.in(0)), op.dy())); });
REGISTER_GRADIENT("MatrixSetDiag", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.Set(0, WithDiagonal(dy, ZerosLike(op.in(1))));
  op.Set(1, Diagonal(dy));
});
// The second and third versions take a band of diagonals; the third aligns them.
void BandFromDiagonalsGradient(GradientOp& op, absl::string_view part) {
  const Expr dy = op.dy();
  op.Set(0, op.CallAlike(part, {dy, op.in(1), op.build().Scalar(dy.dtype(), 0)}));
}
REGISTER_GRADIENT("MatrixDiagV2",
                  [](GradientOp& op) { BandFromDiagonalsGradient(op, "MatrixDiagPartV2"); });
REGISTER_GRADIENT("MatrixDiagV3",
                  [](GradientOp& op) { BandFromDiagonalsGradient(op, "MatrixDiagPartV3"); });
void BandPartGradient(GradientOp& op, absl::string_view set) {
  op.Set(0, op.CallAlike(set, {ZerosLike(op.in(0)), op.dy(), op.in(1)}));
}
REGISTER_GRADIENT("MatrixDiagPartV2",
                  [](GradientOp& op) { BandPartGradient(op, "MatrixSetDiagV2"); });
REGISTER_GRADIENT("MatrixDiagPartV3",
                  [](GradientOp& op) { BandPartGradient(op, "MatrixSetDiagV3"); });
void SetBandGradient(GradientOp& op, absl::string_view set, absl::string_view part) {
  const Expr dy = op.dy(), k = op.in(2);
  op.Set(0, op.CallAlike(set, {dy, ZerosLike(op.in(1)), k}));
  op.Set(1, op.CallAlike(part, {dy, k, op.build().Scalar(dy.dtype(), 0)}));
}
REGISTER_GRADIENT("MatrixSetDiagV2", [](GradientOp& op) {
  SetBandGradient(op, "MatrixSetDiagV2", "MatrixDiagPartV2");
});
REGISTER_GRADIENT("MatrixSetDiagV3", [](GradientOp& op) {
  SetBandGradient(op, "MatrixSetDiagV3", "MatrixDiagPartV3");
});
REGISTER_GRADIENT("MatrixBandPart", [](GradientOp& op) {
  op.Set(0, Call("MatrixBandPart", {op.dy(), op.in(1), op.in(2)}));
});
REGISTER_GRADIENT("Cross", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.Set(0, Call("Cross", {op.in(1), dy}));
  op.Set(1, Call("Cross", {dy, op.in(0)}));
});

// ---- inverses and solvers ----

REGISTER_GRADIENT("MatrixInverse", [](GradientOp& op) {
  const Expr inverse = op.out();
  const bool adjoint = op.attr<bool>("adjoint");
  // With y the inverse of x: dx = -y^H dy y^H; of the adjoint of x, what is its adjoint.
  const Expr d = -Product(Product(inverse, op.dy(), true, false), inverse, false, true);
  op.Set(0, adjoint ? Adjoint(d) : d);
});
void SolveGradient(GradientOp& op, bool triangular) {
  const bool adjoint = op.attr<bool>("adjoint");
  const Expr a = op.in(0), solution = op.out();
  AttrMap attrs = {{"adjoint", !adjoint}};
  if (triangular) attrs.emplace("lower", op.attr<bool>("lower"));
  const Expr d_right =
      Call(triangular ? "MatrixTriangularSolve" : "MatrixSolve", {a, op.dy()}, std::move(attrs));
  Expr d =
      adjoint ? -Product(solution, d_right, false, true) : -Product(d_right, solution, false, true);
  if (triangular) {
    const Expr all = op.build().Int(-1), none = op.build().Int(0);
    d = op.attr<bool>("lower") ? Call("MatrixBandPart", {d, all, none})
                               : Call("MatrixBandPart", {d, none, all});
    // Matrices may be repeated to fit the others.
    const std::vector<Expr> axes =
        CallAll("BroadcastGradientArgs",
                {{SliceVector(ShapeOf(a), 0, -2), SliceVector(ShapeOf(op.in(1)), 0, -2)}});
    if (axes.empty()) return;
    op.Set(0, Reshape(SumOver(d, axes[0]), ShapeOf(a)));
    op.Set(1, Reshape(SumOver(d_right, axes[1]), ShapeOf(op.in(1))));
    return;
  }
  op.Set(0, d);
  op.Set(1, d_right);
}
REGISTER_GRADIENT("MatrixSolve", [](GradientOp& op) { SolveGradient(op, false); });
REGISTER_GRADIENT("MatrixTriangularSolve", [](GradientOp& op) { SolveGradient(op, true); });

// Golub and Pereyra: with C = (A^H A + l I)^-1, or (A A^H + l I)^-1 for flat matrices.
REGISTER_GRADIENT("MatrixSolveLs", [](GradientOp& op) {
  const Expr a = op.in(0), b = op.in(1), x = op.out(), dy = op.dy();
  // The shapes decide the formula, which must be known now.
  const PartialShape known = op.StaticShape(a);
  if (!known.known_rank() || known.dim(known.rank() - 1) < 0 || known.dim(known.rank() - 2) < 0) {
    op.Fail(absl::UnimplementedError("the shape of the matrix must be known"));
    return;
  }
  const bool tall = known.dim(known.rank() - 2) >= known.dim(known.rank() - 1);
  const Expr gram = tall ? Product(a, a, true, false) : Product(a, a, false, true);
  const Expr ridge =
      Call("BroadcastTo", {CastTo(op.in(2), a.dtype()), SliceVector(ShapeOf(gram), 0, -1)});
  const Expr cholesky = Call("Cholesky", {gram + FromDiagonal(ridge)});
  auto solve = [&](const Expr& right) {
    const Expr half = Call("MatrixTriangularSolve", {cholesky, right});
    return Call("MatrixTriangularSolve", {cholesky, half}, {{"adjoint", true}});
  };
  if (tall) {
    const Expr z = solve(dy);
    op.Set(0, Product(b - Product(a, x), z, false, true) - Product(Product(a, z), x, false, true));
    op.Set(1, Product(a, z));
    return;
  }
  const Expr d_b = solve(Product(a, dy));
  const Expr residual = dy - Product(a, d_b, true, false);
  op.Set(0, Product(solve(b), residual, false, true) - Product(d_b, x, false, true));
  op.Set(1, d_b);
});

// ---- factorisations ----

REGISTER_GRADIENT("Cholesky", [](GradientOp& op) {
  const Expr factor = op.out();
  // Murray, "Differentiation of the Cholesky decomposition" (2016).
  Expr middle = Product(factor, op.dy(), true, false);
  middle = LowerPart(WithDiagonal(middle, 0.5 * Diagonal(middle)));
  const Expr solved = Call("MatrixTriangularSolve", {factor, middle}, {{"adjoint", true}});
  const Expr d =
      Adjoint(Call("MatrixTriangularSolve", {factor, Adjoint(solved)}, {{"adjoint", true}}));
  op.Set(0, 0.5 * (d + Adjoint(d)));
});
// Returns `x`, one number a matrix, with two more dimensions.
Expr AsMatrices(const Expr& x) { return ExpandDims(ExpandDims(x, -1), -1); }
REGISTER_GRADIENT("MatrixDeterminant", [](GradientOp& op) {
  const Expr inverse = Call("MatrixInverse", {op.in(0)}, {{"adjoint", true}});
  op.Set(0, AsMatrices(op.dy() * Conjugate(op.out())) * inverse);
});
REGISTER_GRADIENT("LogMatrixDeterminant", [](GradientOp& op) {
  op.Set(0, AsMatrices(op.dy(1)) * Call("MatrixInverse", {op.in(0)}, {{"adjoint", true}}));
});

// TensorFlow's reciprocal, which goes to 0 where `x` does: what rounding leaves of 0 would become a
// huge number otherwise, such as the difference of two equal eigenvalues.
Expr SafeReciprocal(const Expr& x) { return x * Call("Reciprocal", {x * x + 1e-20}); }
// 1 / (b - a) for each pair of elements of a vector, 0 on the diagonal.
Expr InverseDifferences(const Expr& x) {
  const Expr difference = ExpandDims(x, -2) - ExpandDims(x, -1);
  return WithDiagonal(SafeReciprocal(difference), ZerosLike(x));
}

// The op reads the lower half alone, and of the diagonal the real part.
void SetSelfAdjoint(GradientOp& op, const Expr& d) {
  const Expr sum = d + Adjoint(d);
  op.Set(0, WithDiagonal(LowerPart(sum), 0.5 * Diagonal(sum)));
}
REGISTER_GRADIENT("SelfAdjointEigV2", [](GradientOp& op) {
  if (!op.attr<bool>("compute_v")) {
    // Only the values are there; the vectors are computed again.
    const std::vector<Expr> both = CallAll("SelfAdjointEigV2", {{op.in(0)}}, {{"compute_v", true}});
    if (both.empty()) return;
    SetSelfAdjoint(op, Product(both[1] * ExpandDims(op.dy(0), -2), both[1], false, true));
    return;
  }
  const Expr e = op.out(0), v = op.out(1);
  const Expr f = InverseDifferences(e);
  Expr inner = FromDiagonal(op.dy(0));
  if (op.HasDy(1)) inner = inner + f * Product(v, op.dy(1), true, false);
  SetSelfAdjoint(op, Product(v, Product(inner, v, false, true)));
});

// The gradient of a = q r, where r is square. Roberts and Roberts, "QR and LQ decomposition matrix
// backpropagation algorithms for square, wide, and deep, real and complex matrices" (2020).
Expr SquareQrGradient(const Expr& q, const Expr& r, const Expr& dq, const Expr& dr) {
  auto times_inverse_of_r = [&](const Expr& x) {
    return Adjoint(Call("MatrixTriangularSolve", {r, Adjoint(x)}, {{"lower", false}}));
  };
  const Expr qdq = Product(q, dq, true, false);
  const Expr rdr = Product(r, dr, false, true);
  const Expr skew = rdr - Adjoint(rdr) + qdq - Adjoint(qdq);
  // The diagonal of r is real, so that half of the imaginary diagonal is left.
  const Expr lower = WithDiagonal(LowerPart(skew), 0.5 * Diagonal(skew));
  const Expr a = Product(q, dr + times_inverse_of_r(lower));
  return a + times_inverse_of_r(dq - Product(q, qdq));
}
REGISTER_GRADIENT("Qr", [](GradientOp& op) {
  const PartialShape shape = op.StaticShape(op.in(0));
  const int64_t rows = shape.known_rank() ? shape.dim(shape.rank() - 2) : -1;
  const int64_t columns = shape.known_rank() ? shape.dim(shape.rank() - 1) : -1;
  if (op.attr<bool>("full_matrices") && (rows < 0 || columns < 0 || rows > columns)) {
    op.Fail(absl::UnimplementedError(
        "with full_matrices it exists for matrices with at most as many rows as columns, of a "
        "known shape"));
    return;
  }
  const Expr a = op.in(0), q = op.out(0), r = op.out(1), dq = op.dy(0), dr = op.dy(1);
  if (a.empty()) return;
  if (columns >= 0 && rows >= columns) return op.Set(0, SquareQrGradient(q, r, dq, dr));
  // r has a square part, whose columns are as many as its rows, and the rest beside it.
  GraphBuilder& build = op.build();
  const Expr count = Call("Squeeze", {SliceVector(SliceVector(ShapeOf(r), -2, 0), 0, 1)});
  const Expr all = Call("Squeeze", {SliceVector(ShapeOf(r), -1, 0)});
  const Expr first = Call("Range", {build.Int(0), count, build.Int(1)});
  const Expr rest = Call("Range", {count, all, build.Int(1)});
  const auto at = [&](const Expr& x, const Expr& columns_of_x) {
    return Call("GatherV2", {x, columns_of_x, build.Int(-1)});
  };
  const Expr dr_rest = at(dr, rest);
  const Expr d_square = SquareQrGradient(
      q, at(r, first), dq + Product(at(a, rest), dr_rest, false, true), at(dr, first));
  op.Set(0, Concat({{d_square, Product(q, dr_rest)}}, -1));
});

REGISTER_GRADIENT("Eig", [](GradientOp& op) {
  const DType complex = op.attr<DType>("Tout");
  const bool has_vectors = op.attr<bool>("compute_v");
  const Expr v = has_vectors ? op.out(1)
                             : Call("Eig", {op.in(0)}, {{"compute_v", true}, {"Tout", complex}}, 1);
  const Expr adjoint = Adjoint(v);
  Expr inner = FromDiagonal(op.dy(0));
  if (has_vectors && op.HasDy(1)) {
    const Expr projected = Product(v, op.dy(1), true, false);
    // Vectors have length 1.
    const Expr length = FromDiagonal(
        CastTo(Call("Real", {Diagonal(projected)},
                    {{"Tout", complex == DType::kComplex64 ? DType::kFloat : DType::kDouble}}),
               complex));
    inner = inner + Conjugate(InverseDifferences(op.out(0))) *
                        (projected - Product(Product(v, v, true, false), length));
  }
  const Expr d = Call("MatrixSolve", {adjoint, Product(inner, adjoint)});
  const Expr a = op.in(0);
  if (d.empty() || a.dtype() == complex) {
    op.Set(0, d);
  } else {
    op.Set(0, Call("Real", {d}, {{"Tout", a.dtype()}}));
  }
});

// Left or right singular vectors with their gradient.
struct SingularVectors {
  // Those of the singular values; with full_matrices there may be one more.
  Expr vectors, d;
  Expr more, d_more;  // empty if there is none

  Expr Projected() const { return Product(vectors, d, true, false); }
  // The part of the gradient that these vectors do not span.
  Expr Beyond() const {
    const Expr beyond = d - Product(vectors, Projected());
    return more.empty() ? beyond : beyond - Product(more, Product(d_more, vectors, true, false));
  }
};
// Returns output `i` of a Svd, of which `count` vectors have singular values; -1 for all.
SingularVectors VectorsOf(GradientOp& op, int i, int count) {
  const Expr all = op.out(i), d = op.HasDy(i) ? op.dy(i) : Expr();
  if (count < 0) return {all, d, {}, {}};
  GraphBuilder& build = op.build();
  std::vector<int32_t> columns(count);
  std::iota(columns.begin(), columns.end(), 0);
  const auto at = [&](const Expr& x, absl::Span<const int32_t> which) {
    return x.empty() ? x : Call("GatherV2", {x, build.Ints(which), build.Int(-1)});
  };
  return {at(all, columns), at(d, columns), at(all, {count}), at(d, {count})};
}

// Townsend, "Differentiating the singular value decomposition" (2016). Complex vectors are
// determined but for a phase that both sides share: a loss must not depend on it, so that the
// phases of the gradients on either side are opposite.
REGISTER_GRADIENT("Svd", [](GradientOp& op) {
  const bool has_vectors = op.attr<bool>("compute_uv");
  const Expr a = op.in(0), ds = CastTo(op.dy(0), a.dtype());
  if (!has_vectors) {
    const std::vector<Expr> all = CallAll("Svd", {{a}}, {{"compute_uv", true}});
    if (all.empty()) return;
    op.Set(0, Product(all[1] * ExpandDims(ds, -2), all[2], false, true));
    return;
  }
  const PartialShape shape = op.StaticShape(a);
  const int rows = shape.known_rank() ? static_cast<int>(shape.dim(shape.rank() - 2)) : -1;
  const int columns = shape.known_rank() ? static_cast<int>(shape.dim(shape.rank() - 1)) : -1;
  const bool is_full = op.attr<bool>("full_matrices");
  if (is_full && (rows < 0 || columns < 0 || std::abs(rows - columns) > 1)) {
    op.Fail(absl::UnimplementedError(
        "with full_matrices it exists for matrices of a known shape, which have as many rows as "
        "columns, or one more or less"));
    return;
  }
  const Expr s = CastTo(op.out(0), a.dtype());
  const Expr squares = InverseDifferences(Call("Square", {s}));
  const Expr row = ExpandDims(s, -2), column = ExpandDims(s, -1);
  const auto skew = [&](const SingularVectors& side) {
    const Expr projected = side.Projected();
    return squares * (projected - Adjoint(projected));
  };
  const SingularVectors u = VectorsOf(op, 1, is_full && rows > columns ? columns : -1);
  const SingularVectors v = VectorsOf(op, 2, is_full && rows < columns ? rows : -1);
  Expr inner = FromDiagonal(ds), outer;
  if (op.HasDy(1)) {
    inner = inner + skew(u) * row;
    outer = Product(u.Beyond() * SafeReciprocal(row), v.vectors, false, true);
  }
  if (op.HasDy(2)) {
    inner = inner + column * skew(v);
    const Expr part = Product(u.vectors, v.Beyond() * SafeReciprocal(row), false, true);
    outer = outer.empty() ? part : outer + part;
  }
  if (IsComplex(a.dtype()) && op.HasDy(2)) {
    const Expr phases = Diagonal(v.Projected());
    inner = inner + FromDiagonal(0.25 * (Conjugate(phases) - phases) * SafeReciprocal(s));
  }
  const Expr d = Product(Product(u.vectors, inner), v.vectors, false, true);
  op.Set(0, outer.empty() ? d : d + outer);
});

// With y y = x: the solution of y^H d + d y^H = dy, a linear system for the elements of d.
REGISTER_GRADIENT("MatrixSquareRoot", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr y = op.out(), dy = op.dy();
  const Expr identity = FromDiagonal(OnesLike(Diagonal(y)));
  const Expr shape = ShapeOf(y), batch = SliceVector(shape, 0, -2);
  const Expr size = Call("Squeeze", {SliceVector(shape, -1, 0)});
  const Expr elements = ExpandDims(size * size, 0);
  auto kronecker = [&](const Expr& a, const Expr& b) {
    return Reshape(Call("Einsum", {a, b}, {{"equation", "...ij,...kl->...ikjl"}}),
                   Concat({{batch, elements, elements}}, 0));
  };
  const Expr system = kronecker(Adjoint(y), identity) + kronecker(identity, Conjugate(y));
  const Expr right = Reshape(dy, Concat({{batch, elements, build.Ints({1})}}, 0));
  op.Set(0, Reshape(Call("MatrixSolve", {system, right}), shape));
});

// ---- banded matrices ----

REGISTER_GRADIENT("BandedTriangularSolve", [](GradientOp& op) {
  const bool adjoint = op.attr<bool>("adjoint"), lower = op.attr<bool>("lower");
  const Expr a = op.in(0), solution = op.out();
  const Expr d_right =
      Call("BandedTriangularSolve", {a, op.dy()}, {{"adjoint", !adjoint}, {"lower", lower}});
  const Expr full =
      adjoint ? -Product(solution, d_right, false, true) : -Product(d_right, solution, false, true);
  if (full.empty()) return;
  const Expr zero = op.build().Ints({0});
  const Expr bands = SliceVector(SliceVector(ShapeOf(a), -2, 0), 0, 1) - op.build().Int(1);
  const Expr band = lower ? Concat({{-bands, zero}}, 0) : Concat({{zero, bands}}, 0);
  const Expr d = Call("MatrixDiagPartV3", {full, band, op.build().Scalar(full.dtype(), 0)},
                      {{"align", "LEFT_RIGHT"}});
  // Matrices may be repeated to fit the others.
  const std::vector<Expr> axes =
      CallAll("BroadcastGradientArgs",
              {{SliceVector(ShapeOf(a), 0, -2), SliceVector(ShapeOf(op.in(1)), 0, -2)}});
  if (axes.empty()) return;
  op.Set(0, Reshape(SumOver(d, axes[0]), ShapeOf(a)));
  op.Set(1, Reshape(SumOver(d_right, axes[1]), ShapeOf(op.in(1))));
});

// The rows of each matrix one further down, or up for a negative number, with zeros behind them.
Expr ShiftRows(const Expr& x, int by) {
  if (x.empty()) return x;
  GraphBuilder& build = *x.builder();
  const Expr all = ShapeOf(x), outer = SliceVector(all, 0, -2), last = SliceVector(all, -1, 0);
  const Expr rows = Call("Squeeze", {SliceVector(SliceVector(all, -2, 0), 0, 1)});
  const Expr zeros =
      Call("Fill", {Concat({{outer, build.Ints({1}), last}}, 0), build.Scalar(x.dtype(), 0)});
  const Expr first = by < 0 ? build.Int(1) : build.Int(0);
  const Expr end = by < 0 ? rows : rows - build.Int(1);
  const Expr kept = Call("GatherV2", {x, Call("Range", {first, end, build.Int(1)}), build.Int(-2)});
  return by < 0 ? Concat({{kept, zeros}}, -2) : Concat({{zeros, kept}}, -2);
}
Expr SumOfColumns(const Expr& x) { return x.empty() ? x : SumOver(x, x.builder()->Int(-1)); }
// Diagonal `i`, of the upper, the middle and the lower one, as a column.
Expr DiagonalColumn(GradientOp& op, const Expr& diagonals, int i) {
  return ExpandDims(Call("GatherV2", {diagonals, op.build().Int(i), op.build().Int(-2)}), -1);
}

REGISTER_GRADIENT("TridiagonalMatMul", [](GradientOp& op) {
  const Expr x = Conjugate(op.in(3)), dy = op.dy();
  auto column = [&](int i) { return Conjugate(DiagonalColumn(op, op.in(i), 0)); };
  op.Set(0, ExpandDims(SumOfColumns(ShiftRows(x, -1) * dy), -2));
  op.Set(1, ExpandDims(SumOfColumns(x * dy), -2));
  op.Set(2, ExpandDims(SumOfColumns(ShiftRows(x, 1) * dy), -2));
  op.Set(3, ShiftRows(column(0) * dy, 1) + column(1) * dy + ShiftRows(column(2) * dy, -1));
});
REGISTER_GRADIENT("TridiagonalSolve", [](GradientOp& op) {
  const Expr diagonals = op.in(0);
  auto row = [&](const Expr& as_column) {
    return Conjugate(Call("Squeeze", {as_column}, {{"squeeze_dims", std::vector<int64_t>{-1}}}));
  };
  const Expr upper = row(ShiftRows(DiagonalColumn(op, diagonals, 2), -1));
  const Expr middle = row(DiagonalColumn(op, diagonals, 1));
  const Expr lower = row(ShiftRows(DiagonalColumn(op, diagonals, 0), 1));
  const Expr adjoint = Call("Pack", {upper, middle, lower}, {{"axis", int64_t{-2}}});
  const Expr d = op.CallAlike("TridiagonalSolve", {adjoint, op.dy()});
  const Expr x = Conjugate(op.out());
  op.Set(0, -Call("Pack",
                  {SumOfColumns(d * ShiftRows(x, -1)), SumOfColumns(d * x),
                   SumOfColumns(d * ShiftRows(x, 1))},
                  {{"axis", int64_t{-2}}}));
  op.Set(1, d);
});

}  // namespace
}  // namespace tessera

// Calls of LAPACK's routines, by which JAX exports linear algebra for CPUs. The target is named by
// the routine, the letter of its dtype before it: "lapack_spotrf_ffi". The attribute
// `mhlo.backend_config` has the arguments of the routine, letters as their codes.
//
// Operands with the shapes of all results follow those of the routine if a shape is not known.
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/stablehlo/linear_algebra.h"

namespace tessera::stablehlo {
namespace {

// A call whose number of operands and results has been checked.
struct Routine {
  Translator& t;
  const Operation& op;
  int rank;     // of the first operand
  DType dtype;  // of the first operand

  Expr Operand(int i) const { return t.Full(op.operands[i]); }

  // An argument of the routine; fails if there is none.
  int64_t Argument(absl::string_view name) const {
    if (const auto* config = op.FindAttr<Attribute::Dictionary>("mhlo.backend_config")) {
      for (const auto& [key, value] : *config) {
        const auto* const number = key == name ? value->get<int64_t>() : nullptr;
        if (number != nullptr) return *number;
      }
    }
    t.Fail(absl::StrCat("it lacks the argument '", name, "'"));
    return 0;
  }
  // Whether a letter is the first of two that it may be; fails if it is another one.
  bool IsFirstOf(absl::string_view name, char first, char second) const {
    const int64_t letter = Argument(name);
    if (letter != first && letter != second) {
      t.Fail(absl::StrCat("its argument '", name, "' has a value that is not supported"));
    }
    return letter == first;
  }

  void Set(std::initializer_list<Expr> results) const {
    size_t i = 0;
    for (const Expr& result : results) {
      if (!t.status().ok()) return;
      if (i == op.results.size() || result.dtype() != t.type(op.results[i]).dtype) {
        return t.Fail("it has results of other types");
      }
      t.Set(op.results[i++], result);
    }
  }

  // A result that is 0 throughout.
  Expr Zeros(int result) const {
    const ValueId id = op.results[result];
    const size_t first_shape = op.operands.size() - op.results.size();
    if (!t.type(id).IsStatic() && op.operands.size() <= op.results.size()) {
      t.Fail("the shapes of its results are not known");
      return {};
    }
    const Expr shape = t.type(id).IsStatic() ? t.Ints(t.type(id).dimensions)
                                             : t.Full(op.operands[first_shape + result]);
    return Call("Fill", {shape, t.build().Scalar(t.type(id).dtype, 0)});
  }
};

DType RealOf(DType dtype) {
  if (dtype == DType::kComplex64) return DType::kFloat;
  return dtype == DType::kComplex128 ? DType::kDouble : dtype;
}

DType ComplexOf(DType dtype) {
  return RealOf(dtype) == DType::kFloat ? DType::kComplex64 : DType::kComplex128;
}

Expr Part(absl::string_view op, const Expr& x) {
  if (x.empty() || !IsComplex(x.dtype())) return x;
  return Call(op, {x}, {{"Tout", RealOf(x.dtype())}});
}
Expr Real(const Expr& x) { return Part("Real", x); }
Expr Imaginary(const Expr& x) { return Part("Imag", x); }

// What a routine says of its success: 0 unless one of the real `numbers` in the last dimension is
// NaN, as they are if there is no decomposition.
Expr Info(Translator& t, const Expr& numbers) {
  if (numbers.empty()) return {};
  const Expr failed = Call("Any", {Call("IsNan", {numbers}), t.build().Int(-1)});
  return failed.empty() ? failed : CastTo(failed, DType::kInt32);
}

void Potrf(const Routine& r) {
  const bool lower = r.IsFirstOf("uplo", 'L', 'U');
  const Expr factors = CholeskyFactors(r.t, r.Operand(0), r.rank, lower);
  if (factors.empty()) return;
  // LAPACK takes a NaN for a positive pivot: the columns before it stay.
  const Expr is_nan = Call("IsNan", {Real(Call("MatrixDiagPart", {factors}))});
  r.Set({factors, CastTo(Call("All", {is_nan, r.t.build().Int(-1)}), DType::kInt32)});
}

void Trsm(const Routine& r) {
  const Type& sides = r.t.type(r.op.operands[1]);
  if (sides.rank() != r.rank || sides.dtype != r.dtype) {
    return r.t.Fail("its operands do not fit each other");
  }
  const bool adjoint = r.Argument("trans_x") == 'C';
  r.Set({Solution(r.t, {.matrix = r.Operand(0),
                        .sides = r.Operand(1),
                        .rank = r.rank,
                        .left = r.IsFirstOf("side", 'L', 'R'),
                        .lower = r.IsFirstOf("uplo", 'L', 'U'),
                        .unit_diagonal = r.IsFirstOf("diag", 'U', 'N'),
                        .transpose = adjoint || r.IsFirstOf("trans_x", 'T', 'N'),
                        .conjugate = adjoint})});
}

void Getrf(const Routine& r) {
  const std::vector<Expr> lu = CallAll("_LapackGetrf", {r.Operand(0)});
  if (lu.size() == 3) r.Set({lu[0], lu[1], lu[2]});
}

void Geqrf(const Routine& r) {
  const std::vector<Expr> qr = CallAll("_LapackGeqrf", {r.Operand(0)});
  if (qr.size() == 2) r.Set({qr[0], qr[1]});
}

void Orgqr(const Routine& r) {
  const Type& taus = r.t.type(r.op.operands[1]);
  if (taus.rank() != r.rank - 1 || taus.dtype != r.dtype) {
    return r.t.Fail("its operands do not fit each other");
  }
  r.Set({Call("_LapackOrgqr", {r.Operand(0), r.Operand(1)})});
}

void Gehrd(const Routine& r) {
  const Dims& dims = r.t.type(r.op.operands[0]).dimensions;
  if (r.Argument("low") != 1 || r.Argument("high") != dims.back()) {
    return r.t.Fail("the reduction of a part is not supported");
  }
  const std::vector<Expr> reduced = CallAll("_LapackGehrd", {r.Operand(0)});
  if (reduced.size() == 2) r.Set({reduced[0], reduced[1], r.Zeros(2)});
}

void Sytrd(const Routine& r) {
  if (!r.IsFirstOf("uplo", 'L', 'U')) return r.t.Fail("upper triangles are not supported");
  const std::vector<Expr> reduced = CallAll("_LapackSytrd", {r.Operand(0)});
  if (reduced.size() != 2) return;
  const Expr below =
      Call("MatrixDiagPartV3", {reduced[0], r.t.build().Int(-1), r.t.build().Scalar(r.dtype, 0)});
  r.Set({reduced[0], Real(Call("MatrixDiagPart", {reduced[0]})), Real(below), reduced[1],
         r.Zeros(4)});
}

void Syevd(const Routine& r) {
  const std::vector<Expr> eigen = CallAll(
      "XlaSelfAdjointEig", {r.Operand(0)},
      {{"lower", r.IsFirstOf("uplo", 'L', 'U')}, {"max_iter", int64_t{100}}, {"epsilon", 1e-6f}});
  if (eigen.size() != 2) return;
  const Expr values = Real(eigen[0]);
  r.Set({eigen[1], values, Info(r.t, values)});
}

void Gesdd(const Routine& r) {
  const bool vectors = r.Argument("mode") != 'N';
  const bool full = vectors && r.IsFirstOf("mode", 'A', 'S');
  const Expr x = r.Operand(0);
  const std::vector<Expr> svd =
      CallAll("Svd", {x}, {{"compute_uv", vectors}, {"full_matrices", full}});
  if (svd.size() != 3) return;
  const Expr values = Real(svd[0]);
  r.Set({x, values, vectors ? svd[1] : r.Zeros(2),
         vectors ? AdjointMatrices(r.t, svd[2], r.rank) : r.Zeros(3), Info(r.t, values)});
}

void Geev(const Routine& r) {
  const std::vector<Expr> eigen =
      CallAll("_LapackGeev", {r.Operand(0)},
              {{"compute_left", r.IsFirstOf("compute_left", 'V', 'N')},
               {"compute_right", r.IsFirstOf("compute_right", 'V', 'N')},
               {"Tout", ComplexOf(r.dtype)}});
  if (eigen.size() != 3) return;
  const Expr info = Info(r.t, Real(eigen[0]));
  if (IsComplex(r.dtype)) return r.Set({eigen[0], eigen[1], eigen[2], info});
  r.Set({Real(eigen[0]), Imaginary(eigen[0]), eigen[1], eigen[2], info});
}

void Gees(const Routine& r) {
  if (r.Argument("sort") != 'N') return r.t.Fail("sorted eigenvalues are not supported");
  const std::vector<Expr> schur =
      CallAll("_LapackGees", {r.Operand(0)}, {{"Tout", ComplexOf(r.dtype)}});
  if (schur.size() != 3) return;
  const Expr info = Info(r.t, Real(schur[2]));
  if (IsComplex(r.dtype)) return r.Set({schur[0], schur[1], schur[2], r.Zeros(3), info});
  r.Set({schur[0], schur[1], Real(schur[2]), Imaginary(schur[2]), r.Zeros(4), info});
}

// The operands are the diagonals below, on and above the main one, which the routine overwrites.
void Gtsv(const Routine& r) {
  const Expr below = r.Operand(0), main = r.Operand(1), above = r.Operand(2);
  const Expr diagonals = Call("Pack", {above, main, below}, {{"axis", int64_t{-2}}});
  r.Set({below, main, above, Call("TridiagonalSolve", {diagonals, r.Operand(3)}), r.Zeros(4)});
}

struct NamedRoutine {
  absl::string_view name;
  size_t operands, results;
  int rank;  // the least of the first operand
  void (*translate)(const Routine& r);
  size_t complex_results = 0;  // if other than `results`
};

constexpr NamedRoutine kRoutines[] = {
    {"gees", 1, 6, 2, Gees, 5}, {"geev", 1, 5, 2, Geev, 4}, {"gehrd", 1, 3, 2, Gehrd},
    {"geqrf", 1, 2, 2, Geqrf},  {"gesdd", 1, 5, 2, Gesdd},  {"getrf", 1, 3, 2, Getrf},
    {"gtsv", 4, 5, 1, Gtsv},    {"heevd", 1, 3, 2, Syevd},  {"hetrd", 1, 5, 2, Sytrd},
    {"orgqr", 2, 1, 2, Orgqr},  {"potrf", 1, 2, 2, Potrf},  {"syevd", 1, 3, 2, Syevd},
    {"sytrd", 1, 5, 2, Sytrd},  {"trsm", 2, 1, 2, Trsm},    {"ungqr", 2, 1, 2, Orgqr},
};

}  // namespace

bool LapackCall(Translator& t, const Operation& op, absl::string_view target) {
  if (!absl::ConsumePrefix(&target, "lapack_") || !absl::ConsumeSuffix(&target, "_ffi") ||
      target.empty()) {
    return false;
  }
  target.remove_prefix(1);  // the letter, which says what the operands say
  for (const NamedRoutine& routine : kRoutines) {
    if (routine.name != target) continue;
    const Type* const type = op.operands.empty() ? nullptr : &t.type(op.operands[0]);
    if (type == nullptr || type->rank() < routine.rank || !IsLinearType(type->dtype)) {
      t.Fail("its operand is no such matrix");
      return true;
    }
    const bool differs = IsComplex(type->dtype) && routine.complex_results != 0;
    const size_t results = differs ? routine.complex_results : routine.results;
    if (op.results.size() != results || (op.operands.size() != routine.operands &&
                                         op.operands.size() != routine.operands + results)) {
      t.Fail("it has another number of operands or results");
      return true;
    }
    routine.translate({.t = t, .op = op, .rank = type->rank(), .dtype = type->dtype});
    return true;
  }
  return false;
}

}  // namespace tessera::stablehlo

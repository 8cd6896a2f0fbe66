// Products of matrices: dot_general.
#include <algorithm>
#include <utility>

#include "runtime/stablehlo/translator.h"

namespace tessera::stablehlo {
namespace {

bool Contains(const Dims& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

int64_t Product(const Dims& dims) {
  int64_t product = 1;
  for (int64_t d : dims) {
    if (d == kDynamic) return kDynamic;
    product *= d;
  }
  return product;
}

// An operand of a product of matrices: its dimensions by what the product does with them.
struct Operand {
  Expr expr;
  Dims dims;
  Dims batch, contracting, free;  // positions

  void FindFree() {
    for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
      if (!Contains(batch, d) && !Contains(contracting, d)) free.push_back(d);
    }
  }
  bool IsValid() const {
    const Dims all = Joined({batch, contracting});
    for (int64_t d : all) {
      if (d < 0 || d >= static_cast<int64_t>(dims.size())) return false;
    }
    return std::all_of(all.begin(), all.end(),
                       [&](int64_t d) { return std::count(all.begin(), all.end(), d) == 1; });
  }
  // Makes [batch..., rows, columns] of it: by a transposition unless the dimensions stand so
  // already, then by joining them. Returns whether rows and columns have changed places.
  bool ToMatrices(Translator& t, const Dims& rows, const Dims& columns) {
    const Dims wanted = Joined({batch, rows, columns});
    const Dims swapped = Joined({batch, columns, rows});
    const bool is_swapped = wanted != swapped && swapped == Ascending(0, dims.size());
    expr = t.Transposed(expr, is_swapped ? swapped : wanted);
    const Dims batch_dims = Select(dims, batch);
    int64_t row_size = Product(Select(dims, rows)), column_size = Product(Select(dims, columns));
    if (is_swapped) std::swap(row_size, column_size);
    Dims joined = Joined({batch_dims, {row_size}, {column_size}});
    const Dims& order = is_swapped ? swapped : wanted;
    if (rows.size() == 1 && columns.size() == 1) return is_swapped;
    expr = t.ReshapeTo(expr, joined, [&] {
      const Expr shape = ShapeOf(expr);
      const size_t first = (is_swapped ? columns : rows).size();
      std::vector<Expr> parts;
      if (!batch.empty()) {
        parts.push_back(SliceVector(shape, 0, static_cast<int>(batch.size())));
      }
      auto product = [&](size_t begin, size_t end) {
        if (begin == end) return t.build().Ints({1});
        return Call("Prod",
                    {SliceVector(shape, static_cast<int>(begin),
                                 end == order.size() ? 0 : static_cast<int>(end)),
                     t.build().Ints({0})},
                    {{"keep_dims", true}});
      };
      parts.push_back(product(batch.size(), batch.size() + first));
      parts.push_back(product(batch.size() + first, order.size()));
      return Concat(parts, 0);
    });
    return is_swapped;
  }
};

// The sizes of the result of a product, in its order: batch, free of the left, free of the right.
Expr ResultShape(Translator& t, const Expr& lhs_shape, const Expr& rhs_shape, const Operand& lhs,
                 const Operand& rhs) {
  std::vector<Expr> parts;
  auto add = [&](const Expr& shape, const Dims& positions) {
    if (!positions.empty()) {
      parts.push_back(Call("GatherV2", {shape, t.Ints(positions), t.build().Int(0)}));
    }
  };
  add(lhs_shape, Joined({lhs.batch, lhs.free}));
  add(rhs_shape, rhs.free);
  return parts.size() == 1 ? parts[0] : Concat(parts, 0);
}

// The dtype to compute a product in. There are no products here of integers of less than 32 bits,
// of those without a sign, and of bool; in int32 and int64 they have the same bits.
DType ProductDType(DType result) {
  if (result == DType::kBool) return DType::kInt32;
  if (!IsInteger(result)) return result;
  return DTypeSize(result) == 8 ? DType::kInt64 : DType::kInt32;
}

Expr Multiply(const Expr& a, const Expr& b, bool adjoint_a, bool adjoint_b, bool has_batch) {
  if (!has_batch) {
    return Call("MatMul", {a, b}, {{"transpose_a", adjoint_a}, {"transpose_b", adjoint_b}});
  }
  return Call("BatchMatMulV2", {a, b}, {{"adj_x", adjoint_a}, {"adj_y", adjoint_b}});
}

void DotGeneral(Translator& t, const Operation& op) {
  if (op.operands.size() != 2) return t.Fail("it has another number of operands");
  const Type& type = t.type(op.results[0]);
  Operand lhs, rhs;
  lhs.dims = t.type(op.operands[0]).dimensions;
  rhs.dims = t.type(op.operands[1]).dimensions;
  lhs.batch = t.IntsAttr(op, "lhs_batching_dimensions");
  rhs.batch = t.IntsAttr(op, "rhs_batching_dimensions");
  lhs.contracting = t.IntsAttr(op, "lhs_contracting_dimensions");
  rhs.contracting = t.IntsAttr(op, "rhs_contracting_dimensions");
  if (!t.status().ok()) return;
  if (!lhs.IsValid() || !rhs.IsValid() || lhs.contracting.size() != rhs.contracting.size() ||
      lhs.batch.size() != rhs.batch.size()) {
    return t.Fail("its dimensions are wrong");
  }
  const DType dtype = ProductDType(type.dtype);
  lhs.expr = CastTo(t.Full(op.operands[0]), dtype);
  rhs.expr = CastTo(t.Full(op.operands[1]), dtype);
  lhs.FindFree();
  rhs.FindFree();
  const Expr lhs_full = lhs.expr, rhs_full = rhs.expr;
  bool adjoint_a = lhs.ToMatrices(t, lhs.free, lhs.contracting);
  bool adjoint_b = rhs.ToMatrices(t, rhs.contracting, rhs.free);
  if (IsComplex(type.dtype)) {  // whose adjoint is more than a transposition
    Dims swapped = Ascending(0, static_cast<int64_t>(lhs.batch.size()) + 2);
    std::swap(swapped.back(), swapped[swapped.size() - 2]);
    if (std::exchange(adjoint_a, false)) lhs.expr = t.Transposed(lhs.expr, swapped);
    if (std::exchange(adjoint_b, false)) rhs.expr = t.Transposed(rhs.expr, swapped);
  }
  const Expr product =
      CastTo(Multiply(lhs.expr, rhs.expr, adjoint_a, adjoint_b, !lhs.batch.empty()), type.dtype);
  if (lhs.free.size() == 1 && rhs.free.size() == 1) return t.Set(op.results[0], product);
  t.Set(op.results[0], t.ReshapeTo(product, type.dimensions, [&] {
    return ResultShape(t, ShapeOf(lhs_full), ShapeOf(rhs_full), lhs, rhs);
  }));
}

constexpr NamedHandler kHandlers[] = {
    {"dot_general", DotGeneral},
};

}  // namespace

absl::Span<const NamedHandler> ProductHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo

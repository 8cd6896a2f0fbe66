// Element-wise ops that treat integers in ways of their own: division, bits, shifts, and
// conversions to them. What the arithmetic of integers here leaves open or refuses is defined in
// XLA: quotients by zero, shifts by the width of a type, floats beyond its range.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/stablehlo/elementwise.h"

namespace tessera::stablehlo {
namespace {

// Whether `x` is a constant of integers, or one that is converted to other integers, none of whose
// elements is zero.
bool IsNeverZero(const Expr& x) {
  if (x.empty()) return false;
  const Node* node = x.endpoint().node;
  if (node->IsOp("Cast")) node = node->input(0).node;
  if (!node->IsOp("Const")) return false;
  auto value = node->attr<Tensor>("value");
  if (!value.ok() || !IsInteger(value->dtype())) return false;
  // A conversion keeps the lower bytes, which come first.
  const size_t size = DTypeSize(value->dtype()), kept = std::min(size, DTypeSize(x.dtype()));
  for (int64_t i = 0; i < value->num_elements(); ++i) {
    const char* const bytes = value->raw() + i * size;
    if (std::all_of(bytes, bytes + kept, [](char byte) { return byte == 0; })) return false;
  }
  return true;
}

// A quotient by zero has all bits set.
Expr Quotient(const Expr& x, const Expr& y) {
  if (IsNeverZero(y)) return Call("TruncateDiv", {x, y});
  GraphBuilder& build = *x.builder();
  const Expr is_zero = Call("Equal", {y, Integer(build, y.dtype(), 0)});
  const Expr divisor = Where(is_zero, Integer(build, y.dtype(), 1), y);
  return Where(is_zero, Integer(build, x.dtype(), -1), Call("TruncateDiv", {x, divisor}));
}

void Divide(Translator& t, const Operation& op) {
  Apply(t, op, 2, [](const std::vector<Expr>& x) {
    return IsInteger(x[0].dtype()) ? Quotient(x[0], x[1]) : Call("RealDiv", {x[0], x[1]});
  });
}

// The remainder of a division by zero is the dividend.
void Remainder(Translator& t, const Operation& op) {
  Apply(t, op, 2, [](const std::vector<Expr>& x) {
    if (!IsInteger(x[0].dtype())) return Call("TruncateMod", {x[0], x[1]});
    return x[0] - x[1] * Quotient(x[0], x[1]);
  });
}

void Negate(Translator& t, const Operation& op) {
  Apply(t, op, 1, [](const std::vector<Expr>& x) {
    if (!IsUnsigned(x[0].dtype())) return Call("Neg", {x[0]});
    return Integer(*x[0].builder(), x[0].dtype(), 0) - x[0];
  });
}

// Shifts `x` after a bitcast. Bits that are shifted by the width of the type or more are gone,
// which the shifts of integers here leave open.
Expr Shift(Translator& t, absl::string_view shift, const Expr& x, const Expr& bits, DType as) {
  const int64_t width = BitsOf(x.dtype());
  const Expr unsigned_bits = Bitcast(bits, UnsignedOf(bits.dtype()));
  const Expr limit = Integer(t.build(), unsigned_bits.dtype(), width);
  const Expr fits = Call("Less", {unsigned_bits, limit});
  const Expr operand = Bitcast(x, as);
  const Expr amount = Bitcast(bits, as);
  const Expr zero = Integer(t.build(), as, 0);
  const Expr shifted = Call(shift, {operand, Where(fits, amount, zero)});
  Expr beyond = zero;
  if (!IsUnsigned(as) && shift == "RightShift") {  // copies of the sign
    beyond = Call(shift, {operand, Integer(t.build(), as, width - 1)});
  }
  return Bitcast(Where(fits, shifted, beyond), x.dtype());
}

void ShiftLeft(Translator& t, const Operation& op) {
  Apply(t, op, 2, [&](const std::vector<Expr>& x) {
    return Shift(t, "LeftShift", x[0], x[1], UnsignedOf(x[0].dtype()));
  });
}

// The bits of integers of `dtype`, which `x` carries, as unsigned integers. A carrier of negative
// integers of 4 bits has copies of the sign in its upper bits, which become zero.
Expr UnsignedBits(const Expr& x, DType dtype) {
  const Expr bits = Bitcast(x, UnsignedOf(x.dtype()));
  if (CarrierOf(dtype) == dtype) return bits;
  return Call("BitwiseAnd", {bits, Integer(*x.builder(), bits.dtype(), 15)});
}

// The same bits as signed integers. The upper bits of a carrier of 4 bits become copies of the
// sign.
Expr SignedBits(const Expr& x, DType dtype) {
  const Expr bits = Bitcast(x, SignedOf(x.dtype()));
  if (CarrierOf(dtype) == dtype) return bits;
  const Expr four = Integer(*x.builder(), bits.dtype(), 4);
  return Call("RightShift", {Call("LeftShift", {bits, four}), four});
}

void ShiftRightLogical(Translator& t, const Operation& op) {
  Apply(t, op, 2, [&](const std::vector<Expr>& x) {
    const Expr bits = UnsignedBits(x[0], t.type(op.operands[0]).dtype);
    return Bitcast(Shift(t, "RightShift", bits, x[1], bits.dtype()), x[0].dtype());
  });
}

void ShiftRightArithmetic(Translator& t, const Operation& op) {
  Apply(t, op, 2, [&](const std::vector<Expr>& x) {
    const Expr bits = SignedBits(x[0], t.type(op.operands[0]).dtype);
    return Bitcast(Shift(t, "RightShift", bits, x[1], bits.dtype()), x[0].dtype());
  });
}

void PopulationCount(Translator& t, const Operation& op) {
  Apply(t, op, 1, [&](const std::vector<Expr>& x) {
    const Expr bits = UnsignedBits(x[0], t.type(op.operands[0]).dtype);
    return CastTo(Call("PopulationCount", {bits}), x[0].dtype());
  });
}

// Sets all bits below the first, and counts those that stay zero.
void CountLeadingZeros(Translator& t, const Operation& op) {
  const DType type = t.type(op.operands[0]).dtype;
  Apply(t, op, 1, [&](const std::vector<Expr>& x) {
    GraphBuilder& build = *x[0].builder();
    Expr bits = UnsignedBits(x[0], type);
    const DType dtype = bits.dtype();
    for (int64_t shift = 1; shift < BitsOf(dtype); shift *= 2) {
      bits = Call("BitwiseOr", {bits, Call("RightShift", {bits, Integer(build, dtype, shift)})});
    }
    const Expr zeros = Call("Invert", {bits});
    return CastTo(Call("PopulationCount", {UnsignedBits(zeros, type)}), x[0].dtype());
  });
}

// Floats beyond the range of the integers become the nearest of them, and NaN becomes zero.
Expr Saturated(const Expr& x, DType integers) {
  GraphBuilder& build = *x.builder();
  const int bits = static_cast<int>(BitsOf(integers));
  const DType dtype = CarrierOf(integers);
  const bool is_signed = !IsUnsigned(dtype);
  const Expr least = build.Scalar(x.dtype(), is_signed ? -std::ldexp(1.0, bits - 1) : 0);
  const Expr limit = build.Scalar(x.dtype(), std::ldexp(1.0, is_signed ? bits - 1 : bits));
  const Expr is_below = Call("Less", {x, least}), is_above = Call("GreaterEqual", {x, limit});
  // Neither is true of NaN, which differs from itself.
  const Expr is_inside = Call("LogicalNot", {Call("LogicalOr", {is_below, is_above})});
  const Expr is_number = Call("LogicalAnd", {is_inside, Call("Equal", {x, x})});
  const Expr inside = CastTo(Where(is_number, x, build.Scalar(x.dtype(), 0)), dtype);
  const int64_t lowest = is_signed ? std::numeric_limits<int64_t>::min() >> (64 - bits) : 0;
  const auto all_bits = static_cast<int64_t>(~uint64_t{0} >> (64 - bits));  // wraps for uint64
  const int64_t greatest = is_signed ? ~lowest : all_bits;
  return Where(is_above, Integer(build, dtype, greatest),
               Where(is_below, Integer(build, dtype, lowest), inside));
}

void Convert(Translator& t, const Operation& op) {
  const DType dtype = t.type(op.results[0]).dtype;
  Apply(t, op, 1, [&](const std::vector<Expr>& x) {
    if (!IsFloating(x[0].dtype()) || !IsInteger(dtype)) return CastTo(x[0], CarrierOf(dtype));
    const bool has_arithmetic = DTypeSize(x[0].dtype()) > 1;  // which floats of 8 bits lack
    return Saturated(has_arithmetic ? x[0] : CastTo(x[0], DType::kFloat), dtype);
  });
}

constexpr NamedHandler kHandlers[] = {
    {"convert", Convert},
    {"count_leading_zeros", CountLeadingZeros},
    {"divide", Divide},
    {"negate", Negate},
    {"popcnt", PopulationCount},
    {"remainder", Remainder},
    {"shift_left", ShiftLeft},
    {"shift_right_arithmetic", ShiftRightArithmetic},
    {"shift_right_logical", ShiftRightLogical},
};

}  // namespace

absl::Span<const NamedHandler> IntegerHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo

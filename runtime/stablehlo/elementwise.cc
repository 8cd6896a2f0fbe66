#include "runtime/stablehlo/elementwise.h"

#include <algorithm>

namespace tessera::stablehlo {
namespace {

// The dimensions of a NumPy broadcast, whose operands do broadcast.
Dims Broadcast(const Dims& a, const Dims& b) {
  Dims result = a.size() > b.size() ? a : b;
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const int64_t x = a[a.size() - i], y = b[b.size() - i];
    int64_t& out = result[result.size() - i];
    if (x == 1 || y == 1) {
      out = x == 1 ? y : x;
    } else {
      out = x == kDynamic ? y : x;
    }
  }
  return result;
}

}  // namespace

void Apply(Translator& t, const Operation& op, size_t arity, const Formula& formula) {
  if (op.operands.size() != arity || op.results.size() != 1) {
    return t.Fail("it has another number of operands");
  }
  std::vector<Expr> exprs;
  Dims dims;
  Expr shape;
  bool is_full = false;
  for (ValueId id : op.operands) {
    const Value value = t.Get(id);
    exprs.push_back(value.expr);
    dims = Broadcast(dims, value.dims);
    // A scalar operand, such as a bound of clamp, is no measure of the result.
    if (!value.is_broadcast() && value.dims.size() == t.type(op.results[0]).dimensions.size()) {
      is_full = true;
    }
    if (value.is_broadcast()) shape = value.shape;
  }
  for (Expr& x : exprs) {
    if (!x.empty()) x = CastTo(x, CarrierOf(x.dtype()));
  }
  Expr result = formula(exprs);
  if (!result.empty() && result.dtype() == CarrierOf(t.type(op.results[0]).dtype)) {
    result = CastTo(result, t.type(op.results[0]).dtype);
  }
  if (is_full || shape.empty()) return t.Set(op.results[0], result);
  t.SetBroadcast(op.results[0], result, dims, shape);
}

DType CarrierOf(DType dtype) {
  if (dtype == DType::kInt4) return DType::kInt8;
  return dtype == DType::kUint4 ? DType::kUint8 : dtype;
}

Expr Integer(GraphBuilder& build, DType dtype, int64_t value) {
  return CastTo(build.Constant(Tensor::Scalar<int64_t>(value)), dtype);
}

Expr Bitcast(const Expr& x, DType dtype) {
  return x.dtype() == dtype ? x : Call("Bitcast", {x}, {{"type", dtype}});
}

DType SignedOf(DType dtype) {
  switch (DTypeSize(dtype)) {
    case 1:
      return DType::kInt8;
    case 2:
      return DType::kInt16;
    case 4:
      return DType::kInt32;
    default:
      return DType::kInt64;
  }
}

DType UnsignedOf(DType dtype) {
  switch (DTypeSize(dtype)) {
    case 1:
      return DType::kUint8;
    case 2:
      return DType::kUint16;
    case 4:
      return DType::kUint32;
    default:
      return DType::kUint64;
  }
}

int64_t BitsOf(DType dtype) {
  return CarrierOf(dtype) == dtype ? static_cast<int64_t>(DTypeSize(dtype)) * 8 : 4;
}

Expr KeyOfTotalOrder(const Expr& x) {
  const DType dtype = SignedOf(x.dtype());
  if (x.dtype() == DType::kFloat || x.dtype() == DType::kDouble) {
    return Call("_OrderKey", {x}, {{"K", dtype}});
  }
  // The bits of a negative float are those of its magnitude, so all but the sign are turned over.
  const Expr bits = Bitcast(x, dtype);
  GraphBuilder& build = *x.builder();
  const Expr sign = Call("RightShift", {bits, Integer(build, dtype, BitsOf(dtype) - 1)});
  const Expr magnitude = Call("Invert", {Integer(build, dtype, int64_t{1} << (BitsOf(dtype) - 1))});
  return Call("BitwiseXor", {bits, Call("BitwiseAnd", {sign, magnitude})});
}

}  // namespace tessera::stablehlo

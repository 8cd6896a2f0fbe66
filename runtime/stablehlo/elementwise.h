// Apply() and helpers, which the translations of element-wise ops share.
#pragma once

#include <functional>
#include <vector>

#include "runtime/stablehlo/translator.h"

namespace tessera::stablehlo {

// Attributes of `compare`, as the VHLO dialect numbers them.
enum ComparisonDirection { kEqual, kNotEqual, kGreaterEqual, kGreater, kLessEqual, kLess };
enum ComparisonType { kNoType, kFloat, kTotalOrder, kSigned, kUnsigned };

using Formula = std::function<Expr(const std::vector<Expr>&)>;

// Applies an op that broadcasts to the operands as they are. The result is a broadcast if all
// operands are. The formula sees int4 and uint4 as their carriers; its result is wrapped.
void Apply(Translator& t, const Operation& op, size_t arity, const Formula& formula);

// The dtype that computes for `dtype`: a byte for integers of 4 bits, which have no arithmetic, and
// `dtype` itself otherwise.
DType CarrierOf(DType dtype);
// A scalar of any dtype of integers; a number that it cannot hold is wrapped.
Expr Integer(GraphBuilder& build, DType dtype, int64_t value);
// The bits of `x` as numbers of another dtype of the same size.
Expr Bitcast(const Expr& x, DType dtype);
// The signed integers with the size of `dtype`, and the unsigned ones of the size of integers.
DType SignedOf(DType dtype);
DType UnsignedOf(DType dtype);
// The bits of a dtype of integers or floats.
int64_t BitsOf(DType dtype);

// Integers whose order is the total order of the floats `x`: -NaN, -inf, ..., -0, 0, ..., inf, NaN.
Expr KeyOfTotalOrder(const Expr& x);

}  // namespace tessera::stablehlo

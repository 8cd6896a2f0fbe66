// Element-wise ops. Operands that are broadcasts stay as they are wherever the op broadcasts
// itself.
#include <algorithm>
#include <initializer_list>

#include "runtime/stablehlo/translator.h"

namespace tessera::stablehlo {
namespace {

// Numbers of the VHLO dialect.
enum ComparisonDirection { kEqual, kNotEqual, kGreaterEqual, kGreater, kLessEqual, kLess };

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

using Formula = std::function<Expr(const std::vector<Expr>&)>;

// Applies an op that broadcasts. The result is a broadcast if all operands are.
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
  const Expr result = formula(exprs);
  if (is_full || shape.empty()) return t.Set(op.results[0], result);
  t.SetBroadcast(op.results[0], result, dims, shape);
}

bool IsFloat(const Expr& x) { return IsFloating(x.dtype()); }

// Whether every element of a constant is zero.
bool IsZero(const Expr& x) {
  if (x.empty() || !x.endpoint().node->IsOp("Const")) return false;
  auto value = x.endpoint().node->attr<Tensor>("value");
  if (!value.ok() || value->num_elements() != 1) return false;
  const char* const bytes = value->raw();
  return std::all_of(bytes, bytes + value->size_bytes(), [](char byte) { return byte == 0; });
}

#define TESSERA_UNARY(OP)                                                         \
  [](Translator& t, const Operation& op) {                                        \
    Apply(t, op, 1, [](const std::vector<Expr>& x) { return Call(OP, {x[0]}); }); \
  }
#define TESSERA_BINARY(OP)                                                              \
  [](Translator& t, const Operation& op) {                                              \
    Apply(t, op, 2, [](const std::vector<Expr>& x) { return Call(OP, {x[0], x[1]}); }); \
  }

// An op on bool has another name than the one on integers.
template <const char* const& OnBool, const char* const& OnInteger>
void LogicalBinary(Translator& t, const Operation& op) {
  Apply(t, op, 2, [](const std::vector<Expr>& x) {
    return Call(x[0].dtype() == DType::kBool ? OnBool : OnInteger, {x[0], x[1]});
  });
}
constexpr const char* kLogicalAnd = "LogicalAnd";
constexpr const char* kBitwiseAnd = "BitwiseAnd";
constexpr const char* kLogicalOr = "LogicalOr";
constexpr const char* kBitwiseOr = "BitwiseOr";
constexpr const char* kNotEqualOp = "NotEqual";
constexpr const char* kBitwiseXor = "BitwiseXor";

void Not(Translator& t, const Operation& op) {
  Apply(t, op, 1, [](const std::vector<Expr>& x) {
    return Call(x[0].dtype() == DType::kBool ? "LogicalNot" : "Invert", {x[0]});
  });
}

void Add(Translator& t, const Operation& op) {
  Apply(t, op, 2, [](const std::vector<Expr>& x) {
    return Call(x[0].dtype() == DType::kBool ? "LogicalOr" : "AddV2", {x[0], x[1]});
  });
}

void Multiply(Translator& t, const Operation& op) {
  Apply(t, op, 2, [](const std::vector<Expr>& x) {
    return Call(x[0].dtype() == DType::kBool ? "LogicalAnd" : "Mul", {x[0], x[1]});
  });
}

void Maximum(Translator& t, const Operation& op) {
  Apply(t, op, 2, [](const std::vector<Expr>& x) {
    if (x[0].dtype() == DType::kBool) return Call("LogicalOr", {x[0], x[1]});
    if (IsFloat(x[0]) && IsZero(x[1])) return Call("Relu", {x[0]});
    if (IsFloat(x[0]) && IsZero(x[0])) return Call("Relu", {x[1]});
    return Call("Maximum", {x[0], x[1]});
  });
}

void Minimum(Translator& t, const Operation& op) {
  Apply(t, op, 2, [](const std::vector<Expr>& x) {
    return Call(x[0].dtype() == DType::kBool ? "LogicalAnd" : "Minimum", {x[0], x[1]});
  });
}

void Divide(Translator& t, const Operation& op) {
  Apply(t, op, 2, [](const std::vector<Expr>& x) {
    return Call(IsInteger(x[0].dtype()) ? "TruncateDiv" : "RealDiv", {x[0], x[1]});
  });
}

void Clamp(Translator& t, const Operation& op) {
  Apply(t, op, 3, [](const std::vector<Expr>& x) {
    return Call("Minimum", {Call("Maximum", {x[1], x[0]}), x[2]});
  });
}

void Select(Translator& t, const Operation& op) {
  Apply(t, op, 3, [](const std::vector<Expr>& x) { return Call("SelectV2", {x[0], x[1], x[2]}); });
}

void Compare(Translator& t, const Operation& op) {
  const int64_t direction = t.IntAttr(op, "comparison_direction");
  Apply(t, op, 2, [&](const std::vector<Expr>& x) {
    switch (direction) {
      case kEqual:
        return Call("Equal", {x[0], x[1]});
      case kNotEqual:
        return Call("NotEqual", {x[0], x[1]});
      default:
        break;
    }
    // Booleans are ordered as 0 and 1.
    const bool is_bool = x[0].dtype() == DType::kBool;
    const Expr a = is_bool ? CastTo(x[0], DType::kInt32) : x[0];
    const Expr b = is_bool ? CastTo(x[1], DType::kInt32) : x[1];
    switch (direction) {
      case kGreaterEqual:
        return Call("GreaterEqual", {a, b});
      case kGreater:
        return Call("Greater", {a, b});
      case kLessEqual:
        return Call("LessEqual", {a, b});
      case kLess:
        return Call("Less", {a, b});
      default:
        t.Fail("the direction of the comparison is unknown");
        return Expr();
    }
  });
}

void Convert(Translator& t, const Operation& op) {
  Apply(t, op, 1,
        [&](const std::vector<Expr>& x) { return CastTo(x[0], t.type(op.results[0]).dtype); });
}

DType UnsignedOf(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return DType::kUint8;
    case DType::kInt16:
      return DType::kUint16;
    case DType::kInt32:
      return DType::kUint32;
    case DType::kInt64:
      return DType::kUint64;
    default:
      return dtype;
  }
}

DType SignedOf(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
      return DType::kInt8;
    case DType::kUint16:
      return DType::kInt16;
    case DType::kUint32:
      return DType::kInt32;
    case DType::kUint64:
      return DType::kInt64;
    default:
      return dtype;
  }
}

Expr Bitcast(const Expr& x, DType dtype) {
  return x.dtype() == dtype ? x : Call("Bitcast", {x}, {{"type", dtype}});
}

// Shifts `x` after a bitcast. Bits that are shifted by the width of the type or more are gone,
// which the shifts of integers here leave open.
Expr Shift(Translator& t, absl::string_view shift, const Expr& x, const Expr& bits, DType as) {
  const int64_t width = static_cast<int64_t>(DTypeSize(x.dtype())) * 8;
  const Expr unsigned_bits = Bitcast(bits, UnsignedOf(bits.dtype()));
  const Expr limit = CastTo(t.build().Scalar(DType::kInt64, width), unsigned_bits.dtype());
  const Expr fits = Call("Less", {unsigned_bits, limit});
  const Expr operand = Bitcast(x, as);
  const Expr amount = Bitcast(bits, as);
  const Expr zero = CastTo(t.build().Scalar(DType::kInt64, 0), as);
  const Expr shifted = Call(shift, {operand, Where(fits, amount, zero)});
  Expr beyond = zero;
  if (!IsUnsigned(as) && shift == "RightShift") {  // copies of the sign
    beyond = Call(shift, {operand, CastTo(t.build().Scalar(DType::kInt64, width - 1), as)});
  }
  return Bitcast(Where(fits, shifted, beyond), x.dtype());
}

void ShiftLeft(Translator& t, const Operation& op) {
  Apply(t, op, 2, [&](const std::vector<Expr>& x) {
    return Shift(t, "LeftShift", x[0], x[1], UnsignedOf(x[0].dtype()));
  });
}

void ShiftRightLogical(Translator& t, const Operation& op) {
  Apply(t, op, 2, [&](const std::vector<Expr>& x) {
    return Shift(t, "RightShift", x[0], x[1], UnsignedOf(x[0].dtype()));
  });
}

void ShiftRightArithmetic(Translator& t, const Operation& op) {
  Apply(t, op, 2, [&](const std::vector<Expr>& x) {
    return Shift(t, "RightShift", x[0], x[1], SignedOf(x[0].dtype()));
  });
}

void RoundAwayFromZero(Translator& t, const Operation& op) {
  Apply(t, op, 1, [](const std::vector<Expr>& x) {
    const Expr magnitude = Call("Abs", {x[0]});
    const Expr below = Call("Floor", {magnitude});
    const Expr is_up =
        Call("GreaterEqual", {magnitude - below, x[0].builder()->Scalar(x[0].dtype(), 0.5)});
    return Call("Sign", {x[0]}) * (below + CastTo(is_up, x[0].dtype()));
  });
}

void CubeRoot(Translator& t, const Operation& op) {
  Apply(t, op, 1, [](const std::vector<Expr>& x) {
    const Expr third = x[0].builder()->Scalar(x[0].dtype(), 1.0 / 3.0);
    return Call("Sign", {x[0]}) * Call("Pow", {Call("Abs", {x[0]}), third});
  });
}

void PopulationCount(Translator& t, const Operation& op) {
  Apply(t, op, 1, [](const std::vector<Expr>& x) {
    return CastTo(Call("PopulationCount", {x[0]}), x[0].dtype());
  });
}

// The halves of a complex number have half its size, which the ops must be told.
void MakeComplex(Translator& t, const Operation& op) {
  Apply(t, op, 2, [&](const std::vector<Expr>& x) {
    return Call("Complex", {x[0], x[1]}, {{"Tout", t.type(op.results[0]).dtype}});
  });
}

template <const char* const& Part>
void PartOfComplex(Translator& t, const Operation& op) {
  Apply(t, op, 1, [&](const std::vector<Expr>& x) {
    if (!IsComplex(x[0].dtype())) return Part == absl::string_view("Real") ? x[0] : ZerosLike(x[0]);
    return Call(Part, {x[0]}, {{"Tout", t.type(op.results[0]).dtype}});
  });
}
constexpr const char* kReal = "Real";
constexpr const char* kImag = "Imag";

// The absolute value of a complex number is real.
void Abs(Translator& t, const Operation& op) {
  Apply(t, op, 1, [&](const std::vector<Expr>& x) {
    if (!IsComplex(x[0].dtype())) return Call("Abs", {x[0]});
    return Call("ComplexAbs", {x[0]}, {{"Tout", t.type(op.results[0]).dtype}});
  });
}

constexpr NamedHandler kHandlers[] = {
    {"abs", Abs},
    {"add", Add},
    {"and", LogicalBinary<kLogicalAnd, kBitwiseAnd>},
    {"atan2", TESSERA_BINARY("Atan2")},
    {"cbrt", CubeRoot},
    {"ceil", TESSERA_UNARY("Ceil")},
    {"clamp", Clamp},
    {"compare", Compare},
    {"complex", MakeComplex},
    {"convert", Convert},
    {"cosine", TESSERA_UNARY("Cos")},
    {"divide", Divide},
    {"exponential", TESSERA_UNARY("Exp")},
    {"exponential_minus_one", TESSERA_UNARY("Expm1")},
    {"floor", TESSERA_UNARY("Floor")},
    {"imag", PartOfComplex<kImag>},
    {"is_finite", TESSERA_UNARY("IsFinite")},
    {"log", TESSERA_UNARY("Log")},
    {"log_plus_one", TESSERA_UNARY("Log1p")},
    {"logistic", TESSERA_UNARY("Sigmoid")},
    {"maximum", Maximum},
    {"minimum", Minimum},
    {"multiply", Multiply},
    {"negate", TESSERA_UNARY("Neg")},
    {"not", Not},
    {"or", LogicalBinary<kLogicalOr, kBitwiseOr>},
    {"popcnt", PopulationCount},
    {"power", TESSERA_BINARY("Pow")},
    {"real", PartOfComplex<kReal>},
    {"remainder", TESSERA_BINARY("TruncateMod")},
    {"round_nearest_afz", RoundAwayFromZero},
    {"round_nearest_even", TESSERA_UNARY("Rint")},
    {"rsqrt", TESSERA_UNARY("Rsqrt")},
    {"select", Select},
    {"shift_left", ShiftLeft},
    {"shift_right_arithmetic", ShiftRightArithmetic},
    {"shift_right_logical", ShiftRightLogical},
    {"sign", TESSERA_UNARY("Sign")},
    {"sine", TESSERA_UNARY("Sin")},
    {"sqrt", TESSERA_UNARY("Sqrt")},
    {"subtract", TESSERA_BINARY("Sub")},
    {"tan", TESSERA_UNARY("Tan")},
    {"tanh", TESSERA_UNARY("Tanh")},
    {"xor", LogicalBinary<kNotEqualOp, kBitwiseXor>},
};

}  // namespace

absl::Span<const NamedHandler> ElementwiseHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo

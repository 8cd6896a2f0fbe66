// Element-wise ops. Operands that are broadcasts stay as they are wherever the op broadcasts
// itself. Those of integers alone are in translate_integers.cc.
#include <algorithm>

#include "runtime/stablehlo/elementwise.h"

namespace tessera::stablehlo {
namespace {

bool IsFloat(const Expr& x) { return IsFloating(x.dtype()); }

// Whether every element of a constant is zero.
// Whether this is a constant zero without dimensions, which leaves others their shape.
bool IsZero(const Expr& x) {
  if (x.empty() || !x.endpoint().node->IsOp("Const")) return false;
  auto value = x.endpoint().node->attr<Tensor>("value");
  if (!value.ok() || value->rank() != 0) return false;
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
  const bool is_total = t.IntAttr(op, "compare_type") == kTotalOrder;
  Apply(t, op, 2, [&](const std::vector<Expr>& x) {
    Expr a = x[0], b = x[1];
    if (is_total && IsFloat(a)) {
      a = KeyOfTotalOrder(a);
      b = KeyOfTotalOrder(b);
    }
    switch (direction) {
      case kEqual:
        return Call("Equal", {a, b});
      case kNotEqual:
        return Call("NotEqual", {a, b});
      default:
        break;
    }
    if (a.dtype() == DType::kBool) {  // ordered as 0 and 1
      a = CastTo(a, DType::kInt32);
      b = CastTo(b, DType::kInt32);
    }
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
    // A narrow float holds no third that is near enough.
    const DType dtype = x[0].dtype();
    const bool is_narrow = DTypeSize(dtype) < DTypeSize(DType::kFloat);
    const Expr wide = is_narrow ? CastTo(x[0], DType::kFloat) : x[0];
    const Expr third = x[0].builder()->Scalar(wide.dtype(), 1.0 / 3.0);
    return CastTo(Call("Sign", {wide}) * Call("Pow", {Call("Abs", {wide}), third}), dtype);
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

void ReducePrecision(Translator& t, const Operation& op) {
  Apply(t, op, 1, [&](const std::vector<Expr>& x) {
    return Call("XlaReducePrecision", {x[0]},
                {{"exponent_bits", t.IntAttr(op, "exponent_bits")},
                 {"mantissa_bits", t.IntAttr(op, "mantissa_bits")}});
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
    {"cosine", TESSERA_UNARY("Cos")},
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
    {"not", Not},
    {"or", LogicalBinary<kLogicalOr, kBitwiseOr>},
    {"power", TESSERA_BINARY("Pow")},
    {"real", PartOfComplex<kReal>},
    {"reduce_precision", ReducePrecision},
    {"round_nearest_afz", RoundAwayFromZero},
    {"round_nearest_even", TESSERA_UNARY("Rint")},
    {"rsqrt", TESSERA_UNARY("Rsqrt")},
    {"select", Select},
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

// Gradients of element-wise functions of several tensors, which are broadcast together.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

Expr Zero(const Expr& like) {
  return like.empty() ? like : like.builder()->Scalar(like.dtype(), 0);
}

// 1 where x is not 0, and 0 where it is.
Expr IsNotZero(const Expr& x) { return CastTo(Call("NotEqual", {x, Zero(x)}), x.dtype()); }

// Sums `d`, of the shape of the output, to the shape of input `i`, for ops that broadcast more than
// two inputs together.
Expr SummedToInput(GradientOp& op, const Expr& d, int i) {
  const Expr shape = ShapeOf(op.in(i));
  return Reshape(SumOver(d, Call("BroadcastGradientArgs", {shape, ShapeOf(op.out())})), shape);
}

void AddGradient(GradientOp& op) {
  const Expr dy = op.dy();
  op.SetBroadcast(0, dy, 1, dy);
}
REGISTER_GRADIENT("Add", AddGradient);
REGISTER_GRADIENT("AddV2", AddGradient);
REGISTER_GRADIENT("Sub", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.SetBroadcast(0, dy, 1, op.Wants(1) ? -dy : Expr());
});
REGISTER_GRADIENT("Mul", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.SetBroadcast(0, op.Wants(0) ? dy * Conjugate(op.in(1)) : Expr(), 1,
                  op.Wants(1) ? dy * Conjugate(op.in(0)) : Expr());
});
REGISTER_GRADIENT("MulNoNan", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.SetBroadcast(0, Call("MulNoNan", {dy, op.in(1)}), 1, Call("MulNoNan", {op.in(0), dy}));
});

// d(x / y) = dx / y - x / y / y dy, by the division that the op makes.
void QuotientGradient(GradientOp& op, absl::string_view divide) {
  const Expr x = Conjugate(op.in(0)), y = Conjugate(op.in(1)), dy = op.dy();
  op.SetBroadcast(0, op.Wants(0) ? Call(divide, {dy, y}) : Expr(), 1,
                  op.Wants(1) ? dy * Call(divide, {Call(divide, {-x, y}), y}) : Expr());
}
void DivGradient(GradientOp& op) { QuotientGradient(op, "RealDiv"); }
REGISTER_GRADIENT("Div", DivGradient);
REGISTER_GRADIENT("RealDiv", DivGradient);
REGISTER_GRADIENT("DivNoNan", [](GradientOp& op) { QuotientGradient(op, "DivNoNan"); });
REGISTER_GRADIENT("Xdivy", [](GradientOp& op) {
  const Expr x = op.in(0), y = op.in(1), dy = op.dy();
  op.SetBroadcast(0, dy * Call("Xdivy", {IsNotZero(x), y}), 1,
                  dy * Call("Xdivy", {-x, Call("Square", {y})}));
});
REGISTER_GRADIENT("Xlogy", [](GradientOp& op) {
  const Expr x = op.in(0), y = op.in(1), dy = op.dy();
  op.SetBroadcast(0, dy * Call("Xlogy", {IsNotZero(x), y}), 1, dy * Call("Xdivy", {x, y}));
});
REGISTER_GRADIENT("Xlog1py", [](GradientOp& op) {
  const Expr x = op.in(0), y = op.in(1), dy = op.dy();
  op.SetBroadcast(0, dy * Call("Xlog1py", {IsNotZero(x), y}), 1, dy * Call("Xdivy", {x, 1.0 + y}));
});

REGISTER_GRADIENT("Pow", [](GradientOp& op) {
  const Expr x = Conjugate(op.in(0)), y = Conjugate(op.in(1)), dy = op.dy();
  Expr dx, d_exponent;
  if (op.Wants(0)) dx = dy * y * Call("Pow", {x, y - 1.0});
  if (op.Wants(1)) {
    // There is no real logarithm of what is not positive.
    const bool is_complex = IsComplex(x.dtype());
    const Expr has_log = Call(is_complex ? "NotEqual" : "Greater", {x, Zero(x)});
    const Expr log = Call("Log", {Where(has_log, x, OnesLike(x))});
    d_exponent = dy * Conjugate(op.out()) * Where(has_log, log, ZerosLike(x));
  }
  op.SetBroadcast(0, dx, 1, d_exponent);
});
REGISTER_GRADIENT("SquaredDifference", [](GradientOp& op) {
  const Expr d = 2.0 * (op.dy() * (op.in(0) - op.in(1)));
  op.SetBroadcast(0, d, 1, op.Wants(1) ? -d : Expr());
});
REGISTER_GRADIENT("FloorMod", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.SetBroadcast(0, dy, 1, op.Wants(1) ? dy * -Call("FloorDiv", {op.in(0), op.in(1)}) : Expr());
});
REGISTER_GRADIENT("Atan2", [](GradientOp& op) {
  const Expr y = op.in(0), x = op.in(1);
  const Expr scaled = op.dy() / (Call("Square", {x}) + Call("Square", {y}));
  op.SetBroadcast(0, x * scaled, 1, -y * scaled);
});
REGISTER_GRADIENT("NextAfter", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.SetBroadcast(0, dy, 1, ZerosLike(dy));
});

// `first` is the comparison for which the op gives its first operand.
void ExtremumGradient(GradientOp& op, absl::string_view first) {
  const Expr dy = op.dy(), zeros = ZerosLike(dy);
  const Expr is_first = Call(first, {op.in(0), op.in(1)});
  op.SetBroadcast(0, op.Wants(0) ? Where(is_first, dy, zeros) : Expr(), 1,
                  op.Wants(1) ? Where(is_first, zeros, dy) : Expr());
}
REGISTER_GRADIENT("Maximum", [](GradientOp& op) { ExtremumGradient(op, "GreaterEqual"); });
REGISTER_GRADIENT("Minimum", [](GradientOp& op) { ExtremumGradient(op, "LessEqual"); });

REGISTER_GRADIENT("Complex", [](GradientOp& op) {
  const Expr dy = op.dy();
  const DType dtype = op.in(0).dtype();
  op.SetBroadcast(0, Call("Real", {dy}, {{"Tout", dtype}}), 1,
                  Call("Imag", {dy}, {{"Tout", dtype}}));
});

// d/dx of the regularised lower incomplete gamma function.
Expr GammaDensity(const Expr& a, const Expr& x) {
  return Call("Exp", {(a - 1.0) * Call("Log", {x}) - x - Call("Lgamma", {a})});
}
REGISTER_GRADIENT("Igamma", [](GradientOp& op) {
  const Expr a = op.in(0), x = op.in(1), dy = op.dy();
  op.SetBroadcast(0, dy * Call("IgammaGradA", {a, x}), 1, dy * GammaDensity(a, x));
});
REGISTER_GRADIENT("Igammac", [](GradientOp& op) {
  const Expr a = op.in(0), x = op.in(1), dy = op.dy();
  op.SetBroadcast(0, -(dy * Call("IgammaGradA", {a, x})), 1, -(dy * GammaDensity(a, x)));
});
REGISTER_GRADIENT("Betainc", [](GradientOp& op) {
  const Expr a = op.in(0), b = op.in(1), x = op.in(2);
  const Expr log_beta = Call("Lgamma", {a}) + Call("Lgamma", {b}) - Call("Lgamma", {a + b});
  const Expr density =
      Call("Exp", {Call("Xlog1py", {b - 1.0, -x}) + Call("Xlogy", {a - 1.0, x}) - log_beta});
  if (op.Wants(2)) op.Set(2, SummedToInput(op, op.dy() * density, 2));
});
REGISTER_GRADIENT("Polygamma", [](GradientOp& op) {
  op.SetBroadcast(1, op.dy() * Call("Polygamma", {op.in(0) + 1.0, op.in(1)}), 0, Expr());
});
REGISTER_GRADIENT("Zeta", [](GradientOp& op) {
  const Expr x = op.in(0), q = op.in(1);
  op.SetBroadcast(1, -x * (Call("Zeta", {x + 1.0, q}) * op.dy()), 0, Expr());
});

void AddNGradient(GradientOp& op) {
  for (int i = 0; i < op.num_inputs(); ++i) op.Set(i, op.gradient(0));
}
REGISTER_GRADIENT("AddN", AddNGradient);
REGISTER_GRADIENT("AccumulateNV2", AddNGradient);

// A condition that is a vector chooses whole rows.
REGISTER_GRADIENT("Select", [](GradientOp& op) {
  const Expr condition = op.in(0), dy = op.dy(), zeros = ZerosLike(dy);
  op.Set(1, Call("Select", {condition, dy, zeros}));
  op.Set(2, Call("Select", {condition, zeros, dy}));
});
REGISTER_GRADIENT("SelectV2", [](GradientOp& op) {
  const Expr condition = op.in(0), dy = op.dy();
  const Expr zero = op.build().Scalar(dy.dtype(), 0);
  for (int i = 1; i <= 2; ++i) {
    if (!op.Wants(i)) continue;
    const Expr d = i == 1 ? Where(condition, dy, zero) : Where(condition, zero, dy);
    op.Set(i, SummedToInput(op, d, i));
  }
});
REGISTER_GRADIENT("ClipByValue", [](GradientOp& op) {
  const Expr x = op.in(0), low = op.in(1), high = op.in(2), dy = op.dy();
  const Expr zeros = ZerosLike(dy);
  const Expr is_low = Call("Less", {x, low}), is_high = Call("Greater", {x, high});
  op.Set(0, Where(Call("LogicalOr", {is_low, is_high}), zeros, dy));
  op.SetBroadcast(1, op.Wants(1) ? Where(is_low, dy, zeros) : Expr(), 0, Expr());
  op.SetBroadcast(2, op.Wants(2) ? Where(is_high, dy, zeros) : Expr(), 0, Expr());
});

}  // namespace
}  // namespace tessera

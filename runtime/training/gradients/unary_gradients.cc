// Gradients of element-wise functions of one tensor.
#include <cmath>

#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// The gradient of a holomorphic function is the incoming one times the conjugate of the derivative.
// Those here are real on the real axis, so that it is the derivative at the conjugate.
Expr X(GradientOp& op) { return Conjugate(op.in(0)); }
Expr Y(GradientOp& op) { return Conjugate(op.out()); }
Expr Unary(absl::string_view name, const Expr& x) { return Call(name, {x}); }
Expr Squared(const Expr& x) { return Call("Square", {x}); }

// Where x is `at`, `value`; elsewhere `otherwise`.
Expr Except(const Expr& x, double at, double value, const Expr& otherwise) {
  if (x.empty()) return x;
  GraphBuilder& build = *x.builder();
  return Where(Call("Equal", {x, build.Scalar(x.dtype(), at)}), build.Scalar(x.dtype(), value),
               otherwise);
}

void AbsGradient(GradientOp& op) { op.Set(0, op.dy() * Unary("Sign", op.in(0))); }
REGISTER_GRADIENT("Abs", AbsGradient);
REGISTER_GRADIENT("ComplexAbs", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.Set(0, Call("Complex", {dy, ZerosLike(dy)}, {{"Tout", op.in(0).dtype()}}) *
                Unary("Sign", op.in(0)));
});
REGISTER_GRADIENT("Neg", [](GradientOp& op) { op.Set(0, -op.dy()); });
REGISTER_GRADIENT("Sign", [](GradientOp& op) { op.Set(0, ZerosLike(op.in(0))); });

void ReciprocalGradient(GradientOp& op) { op.Set(0, Call("ReciprocalGrad", {op.out(), op.dy()})); }
REGISTER_GRADIENT("Inv", ReciprocalGradient);
REGISTER_GRADIENT("Reciprocal", ReciprocalGradient);
REGISTER_GRADIENT("Square", [](GradientOp& op) { op.Set(0, op.dy() * (2.0 * X(op))); });
REGISTER_GRADIENT("Sqrt", [](GradientOp& op) { op.Set(0, Call("SqrtGrad", {op.out(), op.dy()})); });
REGISTER_GRADIENT("Rsqrt", [](GradientOp& op) {
  op.Set(0, Call("RsqrtGrad", {op.out(), op.dy()}));
});
REGISTER_GRADIENT("Exp", [](GradientOp& op) { op.Set(0, op.dy() * Y(op)); });
REGISTER_GRADIENT("Expm1", [](GradientOp& op) { op.Set(0, op.dy() * Unary("Exp", X(op))); });
REGISTER_GRADIENT("Log", [](GradientOp& op) { op.Set(0, op.dy() * Unary("Reciprocal", X(op))); });
REGISTER_GRADIENT("Log1p",
                  [](GradientOp& op) { op.Set(0, op.dy() * Unary("Reciprocal", 1.0 + X(op))); });

REGISTER_GRADIENT("Sin", [](GradientOp& op) { op.Set(0, op.dy() * Unary("Cos", X(op))); });
REGISTER_GRADIENT("Cos", [](GradientOp& op) { op.Set(0, -(op.dy() * Unary("Sin", X(op)))); });
REGISTER_GRADIENT("Tan", [](GradientOp& op) {
  op.Set(0, op.dy() * Squared(Unary("Reciprocal", Unary("Cos", X(op)))));
});
REGISTER_GRADIENT("Sinh", [](GradientOp& op) { op.Set(0, op.dy() * Unary("Cosh", X(op))); });
REGISTER_GRADIENT("Cosh", [](GradientOp& op) { op.Set(0, op.dy() * Unary("Sinh", X(op))); });
REGISTER_GRADIENT("Tanh", [](GradientOp& op) { op.Set(0, Call("TanhGrad", {Y(op), op.dy()})); });
REGISTER_GRADIENT("Asin",
                  [](GradientOp& op) { op.Set(0, op.dy() / Unary("Sqrt", 1.0 - Squared(X(op)))); });
REGISTER_GRADIENT("Acos", [](GradientOp& op) {
  op.Set(0, -(op.dy() / Unary("Sqrt", 1.0 - Squared(X(op)))));
});
REGISTER_GRADIENT("Atan", [](GradientOp& op) { op.Set(0, op.dy() / (1.0 + Squared(X(op)))); });
REGISTER_GRADIENT("Asinh", [](GradientOp& op) { op.Set(0, op.dy() / Unary("Cosh", Y(op))); });
REGISTER_GRADIENT("Acosh", [](GradientOp& op) { op.Set(0, op.dy() / Unary("Sinh", Y(op))); });
REGISTER_GRADIENT("Atanh", [](GradientOp& op) { op.Set(0, op.dy() / (1.0 - Squared(X(op)))); });
REGISTER_GRADIENT("Sigmoid", [](GradientOp& op) {
  op.Set(0, Call("SigmoidGrad", {Y(op), op.dy()}));
});

REGISTER_GRADIENT("Erf", [](GradientOp& op) {
  op.Set(0, M_2_SQRTPI * op.dy() * Unary("Exp", -Squared(op.in(0))));
});
REGISTER_GRADIENT("Erfc", [](GradientOp& op) {
  op.Set(0, -M_2_SQRTPI * op.dy() * Unary("Exp", -Squared(op.in(0))));
});
REGISTER_GRADIENT("Erfinv", [](GradientOp& op) {
  op.Set(0, op.dy() * ((1 / M_2_SQRTPI) * Unary("Exp", Squared(op.out()))));
});
REGISTER_GRADIENT("Ndtri", [](GradientOp& op) {
  op.Set(0, op.dy() * (std::sqrt(2 * M_PI) * Unary("Exp", 0.5 * Squared(op.out()))));
});
REGISTER_GRADIENT("Lgamma", [](GradientOp& op) { op.Set(0, op.dy() * Unary("Digamma", X(op))); });
REGISTER_GRADIENT("Digamma", [](GradientOp& op) {
  const Expr x = X(op);
  op.Set(0, op.dy() * Call("Polygamma", {op.build().Scalar(x.dtype(), 1), x}));
});
REGISTER_GRADIENT("Dawsn",
                  [](GradientOp& op) { op.Set(0, op.dy() * (1.0 - 2.0 * (op.in(0) * op.out()))); });
REGISTER_GRADIENT("Expint",
                  [](GradientOp& op) { op.Set(0, op.dy() * (Unary("Exp", op.in(0)) / op.in(0))); });
REGISTER_GRADIENT("FresnelCos", [](GradientOp& op) {
  op.Set(0, op.dy() * Unary("Cos", M_PI_2 * Squared(op.in(0))));
});
REGISTER_GRADIENT("FresnelSin", [](GradientOp& op) {
  op.Set(0, op.dy() * Unary("Sin", M_PI_2 * Squared(op.in(0))));
});
REGISTER_GRADIENT("Spence", [](GradientOp& op) {
  const Expr x = op.in(0);
  op.Set(0, op.dy() * Except(x, 1, -1, Unary("Log", x) / (1.0 - x)));
});

REGISTER_GRADIENT("BesselI0",
                  [](GradientOp& op) { op.Set(0, op.dy() * Unary("BesselI1", op.in(0))); });
REGISTER_GRADIENT("BesselI0e", [](GradientOp& op) {
  const Expr x = op.in(0);
  op.Set(0, op.dy() * (Unary("BesselI1e", x) - Unary("Sign", x) * op.out()));
});
// The limits at 0 of the next three are 1/2; TensorFlow gives 1 for the first.
REGISTER_GRADIENT("BesselI1", [](GradientOp& op) {
  const Expr x = op.in(0);
  op.Set(0, op.dy() * Except(x, 0, 1, Unary("BesselI0", x) - op.out() / x));
});
REGISTER_GRADIENT("BesselI1e", [](GradientOp& op) {
  const Expr x = op.in(0);
  const Expr rest = op.out() * (Unary("Sign", x) + Unary("Reciprocal", x));
  op.Set(0, op.dy() * Except(x, 0, 0.5, Unary("BesselI0e", x) - rest));
});
REGISTER_GRADIENT("BesselJ1", [](GradientOp& op) {
  const Expr x = op.in(0);
  op.Set(0, op.dy() * Except(x, 0, 0.5, Unary("BesselJ0", x) - op.out() / x));
});
REGISTER_GRADIENT("BesselJ0",
                  [](GradientOp& op) { op.Set(0, -(op.dy() * Unary("BesselJ1", op.in(0)))); });
REGISTER_GRADIENT("BesselK0",
                  [](GradientOp& op) { op.Set(0, -(op.dy() * Unary("BesselK1", op.in(0)))); });
REGISTER_GRADIENT("BesselK0e", [](GradientOp& op) {
  op.Set(0, op.dy() * (op.out() - Unary("BesselK1e", op.in(0))));
});
REGISTER_GRADIENT("BesselK1", [](GradientOp& op) {
  const Expr x = op.in(0);
  op.Set(0, op.dy() * (-Unary("BesselK0", x) - op.out() / x));
});
REGISTER_GRADIENT("BesselK1e", [](GradientOp& op) {
  const Expr x = op.in(0);
  op.Set(0, op.dy() * (op.out() * (1.0 - Unary("Reciprocal", x)) - Unary("BesselK0e", x)));
});
REGISTER_GRADIENT("BesselY0",
                  [](GradientOp& op) { op.Set(0, -(op.dy() * Unary("BesselY1", op.in(0)))); });
REGISTER_GRADIENT("BesselY1", [](GradientOp& op) {
  const Expr x = op.in(0);
  op.Set(0, op.dy() * (Unary("BesselY0", x) - op.out() / x));
});

REGISTER_GRADIENT("Conj", [](GradientOp& op) { op.Set(0, Unary("Conj", op.dy())); });
REGISTER_GRADIENT("Real", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.Set(0, Call("Complex", {dy, ZerosLike(dy)}, {{"Tout", op.in(0).dtype()}}));
});
REGISTER_GRADIENT("Imag", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.Set(0, Call("Complex", {ZerosLike(dy), dy}, {{"Tout", op.in(0).dtype()}}));
});
REGISTER_GRADIENT("Angle", [](GradientOp& op) {
  const Expr dy = op.dy();
  const DType dtype = op.in(0).dtype();
  const Expr re = Call("Real", {op.in(0)}, {{"Tout", dy.dtype()}});
  const Expr im = Call("Imag", {op.in(0)}, {{"Tout", dy.dtype()}});
  const Expr z = Unary("Reciprocal", Call("Complex", {im, re}, {{"Tout", dtype}}));
  op.Set(0, -(Call("Complex", {dy, ZerosLike(dy)}, {{"Tout", dtype}}) * z));
});
REGISTER_GRADIENT("Cast", [](GradientOp& op) { op.Set(0, CastTo(op.dy(), op.in(0).dtype())); });

// The gradients of gradients. Input 0 is what the forward op gave, input 1 the incoming gradient.
void ReciprocalGradGradient(GradientOp& op) {
  const Expr a = Conjugate(op.in(0)), dy = op.dy();
  op.Set(0, Conjugate(dy) * (-2.0 * (op.in(1) * a)));
  op.Set(1, Call("ReciprocalGrad", {a, dy}));
}
REGISTER_GRADIENT("InvGrad", ReciprocalGradGradient);
REGISTER_GRADIENT("ReciprocalGrad", ReciprocalGradGradient);
REGISTER_GRADIENT("SqrtGrad", [](GradientOp& op) {
  const Expr scaled = op.dy() / op.in(0);
  op.Set(0, -(Conjugate(scaled) * op.out()));
  op.Set(1, 0.5 * scaled);
});
REGISTER_GRADIENT("RsqrtGrad", [](GradientOp& op) {
  const Expr a = Conjugate(op.in(0)), dy = op.dy();
  op.Set(0, -1.5 * (Conjugate(dy) * (op.in(1) * Squared(a))));
  op.Set(1, Call("RsqrtGrad", {a, dy}));
});
REGISTER_GRADIENT("TanhGrad", [](GradientOp& op) {
  const Expr a = Conjugate(op.in(0)), b = Conjugate(op.in(1)), dy = op.dy();
  op.Set(0, -2.0 * (dy * (b * a)));
  op.Set(1, Call("TanhGrad", {a, dy}));
});
REGISTER_GRADIENT("SigmoidGrad", [](GradientOp& op) {
  const Expr a = Conjugate(op.in(0)), dy = op.dy();
  const Expr scaled = dy * Conjugate(op.in(1));
  op.Set(0, scaled - 2.0 * (scaled * a));
  op.Set(1, Call("SigmoidGrad", {a, dy}));
});

}  // namespace
}  // namespace tessera

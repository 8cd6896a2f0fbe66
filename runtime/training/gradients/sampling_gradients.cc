// Gradients of random samples with respect to the parameters of their distribution, by implicit
// differentiation (Figurnov, Mohamed, Mnih: "Implicit reparameterization gradients", 2018).
#include <limits>

#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// Sets the gradient of a parameter that was broadcast to the samples.
void SetParameter(GradientOp& op, int parameter, const Expr& d) {
  const Expr shape = ShapeOf(op.in(parameter));
  const std::vector<Expr> axes = CallAll("BroadcastGradientArgs", {{shape, ShapeOf(op.out())}});
  if (!axes.empty()) op.Set(parameter, Reshape(SumOver(d, axes[0]), shape));
}

// `alpha` is the input with the shape of the distribution.
void GammaGradient(GradientOp& op, int alpha) {
  SetParameter(op, alpha, op.dy() * Call("RandomGammaGrad", {op.in(alpha), op.out()}));
}
REGISTER_GRADIENT("RandomGamma", [](GradientOp& op) { GammaGradient(op, 1); });
REGISTER_GRADIENT("StatelessRandomGammaV2", [](GradientOp& op) { GammaGradient(op, 2); });
REGISTER_GRADIENT("StatelessRandomGammaV3", [](GradientOp& op) { GammaGradient(op, 4); });

// The distribution function of the standard normal distribution.
Expr NormalCdf(const Expr& x) { return 0.5 * Call("Erfc", {-(x / 1.4142135623730951)}); }

REGISTER_GRADIENT("StatelessParameterizedTruncatedNormal", [](GradientOp& op) {
  const Expr mean = op.in(2), deviation = op.in(3), sample = op.out(), dy = op.dy();
  if (sample.empty()) return;
  auto standardized = [&](const Expr& x) { return (x - mean) / deviation; };
  const Expr low = standardized(op.in(4)), high = standardized(op.in(5)), x = standardized(sample);
  const Expr cdf_of_low = NormalCdf(low);
  const bool is_double = sample.dtype() == DType::kDouble;
  const Expr tiny =
      op.build().Scalar(sample.dtype(), is_double ? std::numeric_limits<double>::min()
                                                  : std::numeric_limits<float>::min());
  const Expr most =
      op.build().Scalar(sample.dtype(), 1 - (is_double ? std::numeric_limits<double>::epsilon()
                                                       : std::numeric_limits<float>::epsilon()));
  const Expr share =
      Call("Minimum",
           {Call("Maximum", {(NormalCdf(x) - cdf_of_low) / (NormalCdf(high) - cdf_of_low), tiny}),
            most});
  auto weight = [&](const Expr& limit, const Expr& log_share) {
    return Call("Exp", {0.5 * (Call("Square", {x}) - Call("Square", {limit})) + log_share});
  };
  SetParameter(op, 2, dy);
  SetParameter(op, 3, dy * x);
  SetParameter(op, 4, dy * weight(low, Call("Log1p", {-share})));
  SetParameter(op, 5, dy * weight(high, Call("Log", {share})));
});

}  // namespace
}  // namespace tessera

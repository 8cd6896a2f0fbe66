// Gradients of ops on images, and of quantisation that training simulates.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// ---- resizing ----

REGISTER_GRADIENT("ResizeBilinear", [](GradientOp& op) {
  op.Set(0, op.CallAlike("ResizeBilinearGrad", {op.dy(), op.in(0)}));
});
// The backward op has no kernel for half and bfloat16, to which no gradient flows in TensorFlow.
REGISTER_GRADIENT("ResizeBicubic", [](GradientOp& op) {
  const DType dtype = op.in(0).dtype();
  if (dtype != DType::kFloat && dtype != DType::kDouble) return;
  op.Set(0, op.CallAlike("ResizeBicubicGrad", {op.dy(), op.in(0)}));
});
REGISTER_GRADIENT("ResizeNearestNeighbor", [](GradientOp& op) {
  op.Set(0, op.CallAlike("ResizeNearestNeighborGrad",
                         {op.dy(), SliceVector(ShapeOf(op.in(0)), 1, 3)}));
});
REGISTER_GRADIENT("ScaleAndTranslate", [](GradientOp& op) {
  op.Set(0, op.CallAlike("ScaleAndTranslateGrad", {op.dy(), op.in(0), op.in(2), op.in(3)}));
});
REGISTER_GRADIENT("CropAndResize", [](GradientOp& op) {
  const Expr image = op.in(0), boxes = op.in(1), which = op.in(2), dy = op.dy();
  if (op.Wants(0)) {
    op.Set(0, op.CallAlike("CropAndResizeGradImage", {dy, boxes, which, ShapeOf(image)}));
  }
  if (op.Wants(1)) {
    op.Set(1, Call("CropAndResizeGradBoxes", {dy, image, boxes, which}));
  }
});

// The transform back: the inverse of each 3x3 matrix, of whose elements the last is 1.
void ProjectiveTransformGradient(GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr transforms = op.in(1);
  const Expr count = SliceVector(ShapeOf(transforms), 0, 1);
  const Expr one = build.Int(1);
  const Expr ones =
      Call("Fill", {Concat({{count, build.Ints({1})}}, 0), build.Scalar(DType::kFloat, 1)});
  const Expr matrices = Reshape(Concat({{transforms, ones}}, 1), build.Ints({-1, 3, 3}));
  const Expr inverse = Reshape(Call("MatrixInverse", {matrices}), build.Ints({-1, 9}));
  const Expr last = Call("GatherV2", {inverse, build.Ints({8}), one});
  const Expr first = Call("Slice", {inverse, build.Ints({0, 0}), build.Ints({-1, 8})});
  op.Set(0, op.CallAlike("ImageProjectiveTransformV2",
                         {op.dy(), first / last, SliceVector(ShapeOf(op.in(0)), 1, 3)}));
}
REGISTER_GRADIENT("ImageProjectiveTransformV2", ProjectiveTransformGradient);
REGISTER_GRADIENT("ImageProjectiveTransformV3", ProjectiveTransformGradient);

// ---- colours ----

// With V the largest channel, m the smallest and C = V - m: S = C / V, and H is the difference of
// the two other channels, in the order of the colour circle, over 6 C, and a constant. In
// TensorFlow no gradient of S flows to a channel that is not positive, nor one of H where V is not.
REGISTER_GRADIENT("RGBToHSV", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr dy = op.dy();
  auto channel = [&](const Expr& x, int i) {
    return Call("GatherV2", {x, build.Int(i), build.Int(-1)});
  };
  auto number = [&](const Expr& condition) { return CastTo(condition, dy.dtype()); };
  auto both = [](absl::string_view p, absl::string_view q, const Expr& x, const Expr& a,
                 const Expr& b) {
    return Call("LogicalAnd", {Call(p, {x, a}), Call(q, {x, b})});
  };
  const Expr r = channel(op.in(0), 0), g = channel(op.in(0), 1), b = channel(op.in(0), 2);
  const Expr d_saturation = channel(dy, 1), d_value = channel(dy, 2);
  const Expr largest[] = {number(both("GreaterEqual", "GreaterEqual", r, g, b)),
                          number(both("Greater", "GreaterEqual", g, r, b)),
                          number(both("Greater", "Greater", b, r, g))};
  const Expr smallest[] = {number(both("Less", "Less", r, g, b)),
                           number(both("LessEqual", "Less", g, r, b)),
                           number(both("LessEqual", "LessEqual", b, r, g))};
  const Expr value = Call("Maximum", {Call("Maximum", {r, g}), b});
  const Expr least = Call("Minimum", {Call("Minimum", {r, g}), b});
  const Expr range = value - least;
  auto divided = [](const Expr& x, const Expr& y) { return Call("DivNoNan", {x, y}); };
  const Expr zero = build.Scalar(dy.dtype(), 0);
  auto is_positive = [&](const Expr& x) { return number(Call("Greater", {x, zero})); };
  const Expr d_hue = channel(dy, 0) * is_positive(value);
  const Expr saturation_by_least = -divided(d_saturation, value);
  const Expr saturation_by_largest = divided(d_saturation * least, Call("Square", {value}));
  const Expr d_difference = divided(d_hue, 6.0 * range);  // of the two other channels
  const Expr difference = largest[0] * (g - b) + largest[1] * (b - r) + largest[2] * (r - g);
  const Expr d_range = -divided(d_difference * difference, range);
  std::vector<Expr> d;
  for (int c = 0; c < 3; ++c) {
    // The channel is the minuend where the one before it is the largest.
    const Expr sign = largest[(c + 2) % 3] - largest[(c + 1) % 3];
    const Expr by_saturation =
        largest[c] * saturation_by_largest + smallest[c] * saturation_by_least;
    d.push_back(largest[c] * (d_value + d_range) - smallest[c] * d_range +
                is_positive(channel(op.in(0), c)) * by_saturation + sign * d_difference);
  }
  op.Set(0, Call("Pack", d, {{"axis", int64_t{-1}}}));
});

// ---- quantisation, through which the gradient passes within the limits ----

REGISTER_GRADIENT("FakeQuantWithMinMaxArgs", [](GradientOp& op) {
  op.Set(0, op.CallAlike("FakeQuantWithMinMaxArgsGradient", {op.dy(), op.in(0)}));
});
void FakeQuantGradient(GradientOp& op, absl::string_view name) {
  const Expr dx = op.CallAlike(name, {op.dy(), op.in(0), op.in(1), op.in(2)});
  for (int i = 0; i < 3 && !dx.empty(); ++i) {
    op.Set(i, op.build().Output(dx.endpoint().node, i));
  }
}
REGISTER_GRADIENT("FakeQuantWithMinMaxVars",
                  [](GradientOp& op) { FakeQuantGradient(op, "FakeQuantWithMinMaxVarsGradient"); });
REGISTER_GRADIENT("FakeQuantWithMinMaxVarsPerChannel", [](GradientOp& op) {
  FakeQuantGradient(op, "FakeQuantWithMinMaxVarsPerChannelGradient");
});
void PassOn(GradientOp& op) { op.Set(0, op.dy()); }
REGISTER_GRADIENT("QuantizeAndDequantize", PassOn);
REGISTER_GRADIENT("QuantizeAndDequantizeV2", PassOn);
REGISTER_GRADIENT("QuantizeAndDequantizeV3", PassOn);
REGISTER_GRADIENT("QuantizeAndDequantizeV4", [](GradientOp& op) {
  const Expr dx =
      op.CallAlike("QuantizeAndDequantizeV4Grad", {op.dy(), op.in(0), op.in(1), op.in(2)});
  for (int i = 0; i < 3 && !dx.empty(); ++i) {
    op.Set(i, op.build().Output(dx.endpoint().node, i));
  }
});

}  // namespace
}  // namespace tessera

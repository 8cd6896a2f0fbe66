// Gradients of ops on images, and of quantisation that training simulates.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// ---- resizing ----

REGISTER_GRADIENT("ResizeBilinear", [](GradientOp& op) {
  op.Set(0, op.CallAlike("ResizeBilinearGrad", {op.dy(), op.in(0)}));
});
REGISTER_GRADIENT("ResizeBicubic", [](GradientOp& op) {
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

}  // namespace
}  // namespace tessera

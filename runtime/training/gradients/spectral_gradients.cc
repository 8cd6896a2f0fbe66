// Gradients of Fourier transforms.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// The product of the sizes of the last `rank` dimensions, as a scalar of `dtype`.
Expr SizeOfLast(const Expr& x, int rank, DType dtype) {
  if (x.empty()) return x;
  const Expr sizes = SliceVector(ShapeOf(x), -rank, 0);
  return CastTo(Call("Prod", {sizes, x.builder()->Int(0)}), dtype);
}

// A transform is its own adjoint but for the sign of the exponent and the scale.
void ForwardGradient(GradientOp& op, absl::string_view inverse, int rank) {
  const Expr dy = op.dy();
  op.Set(0, Call(inverse, {dy}) * SizeOfLast(dy, rank, dy.dtype()));
}
void InverseGradient(GradientOp& op, absl::string_view forward, int rank) {
  const Expr dy = op.dy();
  op.Set(0, Call(forward, {dy}) / SizeOfLast(dy, rank, dy.dtype()));
}
REGISTER_GRADIENT("FFT", [](GradientOp& op) { ForwardGradient(op, "IFFT", 1); });
REGISTER_GRADIENT("FFT2D", [](GradientOp& op) { ForwardGradient(op, "IFFT2D", 2); });
REGISTER_GRADIENT("FFT3D", [](GradientOp& op) { ForwardGradient(op, "IFFT3D", 3); });
REGISTER_GRADIENT("IFFT", [](GradientOp& op) { InverseGradient(op, "FFT", 1); });
REGISTER_GRADIENT("IFFT2D", [](GradientOp& op) { InverseGradient(op, "FFT2D", 2); });
REGISTER_GRADIENT("IFFT3D", [](GradientOp& op) { InverseGradient(op, "FFT3D", 3); });

// Pads `x` with zeros behind, to `shape`.
Expr PadTo(const Expr& x, const Expr& shape) {
  const Expr behind = shape - ShapeOf(x);
  return Call("Pad", {x, Call("Pack", {ZerosLike(behind), behind}, {{"axis", 1}})});
}
// The shape of `x` with `last` as its last dimensions.
Expr WithLast(const Expr& x, const Expr& last, int rank) {
  return Concat({{SliceVector(ShapeOf(x), 0, -rank), last}}, 0);
}

// Gives `dx`, of what an op has cut or padded its input to, the shape of the input `x`.
Expr WithShapeOf(const Expr& x, const Expr& dx) {
  const Expr used = Call("Minimum", {ShapeOf(x), ShapeOf(dx)});
  return PadTo(Call("Slice", {dx, ZerosLike(used), used}), ShapeOf(x));
}

// The op gives one half of a transform; the other half has no gradient.
void RealForwardGradient(GradientOp& op, absl::string_view inverse, int rank) {
  const Expr x = op.in(0), lengths = op.in(1), dy = op.dy();
  const Expr whole = PadTo(dy, WithLast(dy, lengths, rank));
  const Expr dx = Call("Real", {Call(inverse, {whole})}, {{"Tout", x.dtype()}}) *
                  SizeOfLast(whole, rank, x.dtype());
  op.Set(0, WithShapeOf(x, dx));
}
REGISTER_GRADIENT("RFFT", [](GradientOp& op) { RealForwardGradient(op, "IFFT", 1); });
REGISTER_GRADIENT("RFFT2D", [](GradientOp& op) { RealForwardGradient(op, "IFFT2D", 2); });

// Each number of the half that the op takes stands for two, but for the first one and, of an even
// length, the last one.
void RealInverseGradient(GradientOp& op, absl::string_view forward, int rank) {
  GraphBuilder& build = op.build();
  const Expr dy = op.dy(), lengths = op.in(1);
  const DType complex = op.in(0).dtype();
  const Expr half = Call(forward, {dy, lengths}, {{"Tcomplex", complex}});
  const Expr length = Call("Squeeze", {SliceVector(lengths, -1, 0)});
  const Expr size = Call("Squeeze", {SliceVector(ShapeOf(half), -1, 0)});
  const Expr one = build.Int(1), zero = build.Int(0);
  const Expr index = Call("Range", {zero, size, one});
  const Expr mirror = Call("FloorMod", {length - index, length});
  const Expr is_single = Call("Equal", {index, mirror});
  const Expr weight = Where(is_single, build.Scalar(dy.dtype(), 1), build.Scalar(dy.dtype(), 2));
  const Expr dx = half * CastTo(weight / SizeOfLast(dy, rank, dy.dtype()), complex);
  op.Set(0, WithShapeOf(op.in(0), dx));
}
REGISTER_GRADIENT("IRFFT", [](GradientOp& op) { RealInverseGradient(op, "RFFT", 1); });
REGISTER_GRADIENT("IRFFT2D", [](GradientOp& op) { RealInverseGradient(op, "RFFT2D", 2); });

}  // namespace
}  // namespace tessera

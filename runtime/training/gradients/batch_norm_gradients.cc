// Gradients of batch normalisation, of first and second order.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// In inference the statistics are inputs 3 and 4; in training the op gives them as outputs 3 and 4.
void FusedBatchNormGradient(GradientOp& op, absl::string_view name) {
  const bool is_training = op.attr<bool>("is_training");
  const Expr mean = is_training ? op.out(3) : op.in(3);
  const Expr variance = is_training ? op.out(4) : op.in(4);
  std::vector<Expr> inputs = {op.dy(0), op.in(0), op.in(1), mean, variance};
  if (op.num_outputs() > 5) inputs.push_back(op.out(5));
  AttrMap attrs;
  for (absl::string_view attr : {"epsilon", "data_format", "is_training"}) {
    attrs.emplace(attr, op.node()->attrs().find(attr)->second);
  }
  const std::vector<Expr> outputs = CallAll(name, inputs, std::move(attrs));
  for (size_t i = 0; i < 3 && i < outputs.size(); ++i) op.Set(static_cast<int>(i), outputs[i]);
}
REGISTER_GRADIENT("FusedBatchNorm",
                  [](GradientOp& op) { FusedBatchNormGradient(op, "FusedBatchNormGrad"); });
REGISTER_GRADIENT("FusedBatchNormV2",
                  [](GradientOp& op) { FusedBatchNormGradient(op, "FusedBatchNormGradV2"); });
REGISTER_GRADIENT("FusedBatchNormV3",
                  [](GradientOp& op) { FusedBatchNormGradient(op, "FusedBatchNormGradV3"); });

// The backward op computes, with n = (x - mean) / deviation and means over all elements of a
// channel:
//   dx = scale / deviation * (dy - Mean(dy) - n * Mean(dy * n))
//   dscale = Sum(dy * n), doffset = Sum(dy)
// In inference, where the statistics do not depend on x, dx = scale / deviation * dy.
class FusedBatchNormGradGradient {
 public:
  explicit FusedBatchNormGradGradient(GradientOp& op) : op_(op), build_(op.build()) {
    const std::string format = op.attr<std::string>("data_format");
    const int rank = static_cast<int>(format.size());
    const int channel = static_cast<int>(format.find('C'));
    std::vector<int32_t> axes, shape(rank, 1);
    for (int axis = 0; axis < rank; ++axis) {
      if (axis != channel) axes.push_back(axis);
    }
    if (channel < rank) shape[channel] = -1;
    axes_ = build_.Ints(axes);
    channel_shape_ = build_.Ints(shape);
  }

  void Add() {
    const bool is_training = op_.attr<bool>("is_training");
    const Expr dy = Float(op_.in(0)), x = Float(op_.in(1)), scale = PerChannel(op_.in(2));
    const Expr mean = is_training ? Mean(x) : PerChannel(op_.in(3));
    const Expr centred = x - mean;
    const Expr variance = is_training ? Mean(centred * centred) : PerChannel(op_.in(4));
    const Expr inverse = Call("Rsqrt", {variance + op_.attr<float>("epsilon")});
    const Expr n = centred * inverse;
    // The gradients of dx, dscale and doffset.
    const Expr ddx = Float(op_.dy(0)), ddscale = PerChannel(op_.dy(1));
    const Expr ddoffset = PerChannel(op_.dy(2));
    Set(0, scale * inverse * (is_training ? Projected(ddx, n) : ddx) + ddscale * n + ddoffset);
    const Expr d_inverse = Sum(ddx * (is_training ? Projected(dy, n) : dy));
    op_.Set(2, Reshape(inverse * d_inverse, ShapeOf(op_.in(2))));
    if (!is_training) {
      Set(1, ddscale * inverse * dy);
      return;
    }
    const Expr dn = ddscale * dy - scale * inverse * (ddx * Mean(dy * n) + dy * Mean(ddx * n));
    Set(1, inverse * (Projected(dn, n) - scale * inverse * n * Mean(ddx * Projected(dy, n))));
  }

 private:
  static Expr Float(const Expr& x) { return CastTo(x, DType::kFloat); }
  Expr PerChannel(const Expr& x) { return Reshape(x, channel_shape_); }
  Expr Sum(const Expr& x) { return SumOver(x, axes_, /*keep_dims=*/true); }
  Expr Mean(const Expr& x) { return Call("Mean", {x, axes_}, {{"keep_dims", true}}); }
  // Takes from `x` what is along a constant and along `n`.
  Expr Projected(const Expr& x, const Expr& n) { return x - Mean(x) - n * Mean(x * n); }
  void Set(int i, const Expr& dx) { op_.Set(i, CastTo(dx, op_.in(i).dtype())); }

  GradientOp& op_;
  GraphBuilder& build_;
  Expr axes_, channel_shape_;
};
void AddFusedBatchNormGradGradient(GradientOp& op) { FusedBatchNormGradGradient(op).Add(); }
REGISTER_GRADIENT("FusedBatchNormGrad", AddFusedBatchNormGradGradient);
REGISTER_GRADIENT("FusedBatchNormGradV2", AddFusedBatchNormGradGradient);
REGISTER_GRADIENT("FusedBatchNormGradV3", AddFusedBatchNormGradGradient);

// Inputs are x, mean, variance, offset and scale; the backward op gives offset's behind variance's.
REGISTER_GRADIENT("BatchNormWithGlobalNormalization", [](GradientOp& op) {
  const std::vector<Expr> d = CallAll(
      "BatchNormWithGlobalNormalizationGrad", {{op.in(0), op.in(1), op.in(2), op.in(4), op.dy()}},
      {{"variance_epsilon", op.attr<float>("variance_epsilon")},
       {"scale_after_normalization", op.attr<bool>("scale_after_normalization")}});
  for (size_t i = 0; i < d.size(); ++i) op.Set(static_cast<int>(i), d[i]);
});

}  // namespace
}  // namespace tessera

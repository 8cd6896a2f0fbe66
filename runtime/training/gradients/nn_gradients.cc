// Gradients of activations, convolutions, pooling, normalisation and losses.
#include "runtime/training/gradients/gradient_registry.h"

namespace tessera {
namespace {

// ---- activations ----

REGISTER_GRADIENT("Relu", [](GradientOp& op) { op.Set(0, Call("ReluGrad", {op.dy(), op.out()})); });
REGISTER_GRADIENT("Relu6", [](GradientOp& op) {
  op.Set(0, Call("Relu6Grad", {op.dy(), op.out()}));
});
REGISTER_GRADIENT("Elu", [](GradientOp& op) { op.Set(0, Call("EluGrad", {op.dy(), op.out()})); });
REGISTER_GRADIENT("Selu", [](GradientOp& op) { op.Set(0, Call("SeluGrad", {op.dy(), op.out()})); });
REGISTER_GRADIENT("Softplus",
                  [](GradientOp& op) { op.Set(0, op.dy() * Call("Sigmoid", {op.in(0)})); });
REGISTER_GRADIENT("Softsign", [](GradientOp& op) {
  op.Set(0, Call("SoftsignGrad", {op.dy(), op.in(0)}));
});
REGISTER_GRADIENT("LeakyRelu", [](GradientOp& op) {
  op.Set(0, op.CallAlike("LeakyReluGrad", {op.dy(), op.in(0)}));
});

// Gradients of gradients: input 0 is the incoming gradient.
REGISTER_GRADIENT("ReluGrad", [](GradientOp& op) {
  op.Set(0, Call("ReluGrad", {op.dy(), op.in(1)}));
  op.Set(1, ZerosLike(op.in(1)));
});
REGISTER_GRADIENT("Relu6Grad", [](GradientOp& op) {
  op.Set(0, Call("Relu6Grad", {op.dy(), op.in(1)}));
  op.Set(1, ZerosLike(op.in(1)));
});
REGISTER_GRADIENT("LeakyReluGrad", [](GradientOp& op) {
  op.Set(0, op.CallAlike("LeakyReluGrad", {op.dy(), op.in(1)}));
  op.Set(1, ZerosLike(op.in(1)));
});
// `outputs` < 0 are where the exponential is.
void ExponentialGradGradient(GradientOp& op, absl::string_view name) {
  const Expr outputs = op.in(1), dy = op.dy();
  op.Set(0, Call(name, {dy, outputs}));
  op.Set(1, Where(Call("Less", {outputs, op.build().Scalar(outputs.dtype(), 0)}), dy * op.in(0),
                  ZerosLike(outputs)));
}
REGISTER_GRADIENT("EluGrad", [](GradientOp& op) { ExponentialGradGradient(op, "EluGrad"); });
REGISTER_GRADIENT("SeluGrad", [](GradientOp& op) { ExponentialGradGradient(op, "SeluGrad"); });
REGISTER_GRADIENT("SoftplusGrad", [](GradientOp& op) {
  const Expr dy = op.dy(), incoming = op.in(0), x = op.in(1);
  op.Set(0, Call("SoftplusGrad", {dy, x}));
  op.Set(1, dy * incoming / (Call("Exp", {-x}) + 2.0 + Call("Exp", {x})));
});

REGISTER_GRADIENT("Softmax", [](GradientOp& op) {
  const Expr y = op.out(), dy = op.dy();
  const Expr sum = SumOver(dy * y, op.build().Int(-1), /*keep_dims=*/true);
  op.Set(0, (dy - sum) * y);
});
REGISTER_GRADIENT("LogSoftmax", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.Set(0, dy - SumOver(dy, op.build().Int(-1), /*keep_dims=*/true) * Call("Exp", {op.out()}));
});

// ---- losses ----

// Output 1 of the cross entropies is the gradient of output 0 with respect to the logits.
Expr CrossEntropyGradient(GradientOp& op) {
  Expr dx;
  if (op.HasDy(0)) dx = ExpandDims(op.dy(0), -1) * op.out(1);
  if (!op.HasDy(1)) return dx;
  const Expr dy = op.dy(1), softmax = Call("Softmax", {op.in(0)});
  const Expr second =
      (dy - SumOver(dy * softmax, op.build().Int(-1), /*keep_dims=*/true)) * softmax;
  return dx.empty() ? second : dx + second;
}
REGISTER_GRADIENT("SoftmaxCrossEntropyWithLogits", [](GradientOp& op) {
  op.Set(0, CrossEntropyGradient(op));
  if (op.Wants(1) && op.HasDy(0)) {
    op.Set(1, -(ExpandDims(op.dy(0), -1) * Call("LogSoftmax", {op.in(0)})));
  }
});
REGISTER_GRADIENT("SparseSoftmaxCrossEntropyWithLogits",
                  [](GradientOp& op) { op.Set(0, CrossEntropyGradient(op)); });
REGISTER_GRADIENT("L2Loss", [](GradientOp& op) { op.Set(0, op.in(0) * op.dy()); });

// ---- biases ----

REGISTER_GRADIENT("BiasAdd", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.Set(0, dy);
  if (op.Wants(1)) op.Set(1, op.CallAlike("BiasAddGrad", {dy}));
});
REGISTER_GRADIENT("BiasAddV1", [](GradientOp& op) {
  const Expr dy = op.dy();
  op.Set(0, dy);
  if (op.Wants(1)) op.Set(1, Call("BiasAddGrad", {dy}));
});
REGISTER_GRADIENT("BiasAddGrad", [](GradientOp& op) {
  op.Set(0, op.CallAlike("BiasAdd", {ZerosLike(op.in(0)), op.dy()}));
});

// ---- convolutions ----

// The three ops of a convolution: y = conv(x, f), dx = to_input(sizes, f, dy) and
// df = to_filter(x, sizes, dy). Each is linear in both of its tensors, and the others give its
// gradients.
struct ConvolutionOps {
  absl::string_view forward, to_input, to_filter;
};
constexpr ConvolutionOps kConv2D = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
constexpr ConvolutionOps kConv3D = {"Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"};
constexpr ConvolutionOps kDepthwise = {"DepthwiseConv2dNative",
                                       "DepthwiseConv2dNativeBackpropInput",
                                       "DepthwiseConv2dNativeBackpropFilter"};

template <const ConvolutionOps& kOps>
void ConvolutionGradient(GradientOp& op) {
  const Expr x = op.in(0), filter = op.in(1), dy = op.dy();
  if (op.Wants(0)) op.Set(0, op.CallAlike(kOps.to_input, {ShapeOf(x), filter, dy}));
  if (op.Wants(1)) op.Set(1, op.CallAlike(kOps.to_filter, {x, ShapeOf(filter), dy}));
}
template <const ConvolutionOps& kOps>
void ToInputGradient(GradientOp& op) {
  const Expr filter = op.in(1), backprop = op.in(2), dy = op.dy();
  if (op.Wants(1)) op.Set(1, op.CallAlike(kOps.to_filter, {dy, ShapeOf(filter), backprop}));
  if (op.Wants(2)) op.Set(2, op.CallAlike(kOps.forward, {dy, filter}));
}
template <const ConvolutionOps& kOps>
void ToFilterGradient(GradientOp& op) {
  const Expr x = op.in(0), backprop = op.in(2), dy = op.dy();
  if (op.Wants(0)) op.Set(0, op.CallAlike(kOps.to_input, {ShapeOf(x), dy, backprop}));
  if (op.Wants(2)) op.Set(2, op.CallAlike(kOps.forward, {x, dy}));
}
REGISTER_GRADIENT("Conv2D", ConvolutionGradient<kConv2D>);
REGISTER_GRADIENT("Conv2DBackpropInput", ToInputGradient<kConv2D>);
REGISTER_GRADIENT("Conv2DBackpropFilter", ToFilterGradient<kConv2D>);
REGISTER_GRADIENT("Conv3D", ConvolutionGradient<kConv3D>);
REGISTER_GRADIENT("Conv3DBackpropInputV2", ToInputGradient<kConv3D>);
REGISTER_GRADIENT("Conv3DBackpropFilterV2", ToFilterGradient<kConv3D>);
REGISTER_GRADIENT("DepthwiseConv2dNative", ConvolutionGradient<kDepthwise>);
REGISTER_GRADIENT("DepthwiseConv2dNativeBackpropInput", ToInputGradient<kDepthwise>);
REGISTER_GRADIENT("DepthwiseConv2dNativeBackpropFilter", ToFilterGradient<kDepthwise>);
REGISTER_GRADIENT("Dilation2D", [](GradientOp& op) {
  op.Set(0, op.CallAlike("Dilation2DBackpropInput", {op.in(0), op.in(1), op.dy()}));
  op.Set(1, op.CallAlike("Dilation2DBackpropFilter", {op.in(0), op.in(1), op.dy()}));
});

// ---- pooling ----

REGISTER_GRADIENT("AvgPool", [](GradientOp& op) {
  op.Set(0, op.CallAlike("AvgPoolGrad", {ShapeOf(op.in(0)), op.dy()}));
});
REGISTER_GRADIENT("AvgPoolGrad",
                  [](GradientOp& op) { op.Set(1, op.CallAlike("AvgPool", {op.dy()})); });
REGISTER_GRADIENT("AvgPool3D", [](GradientOp& op) {
  op.Set(0, op.CallAlike("AvgPool3DGrad", {ShapeOf(op.in(0)), op.dy()}));
});
REGISTER_GRADIENT("AvgPool3DGrad",
                  [](GradientOp& op) { op.Set(1, op.CallAlike("AvgPool3D", {op.dy()})); });
REGISTER_GRADIENT("MaxPool", [](GradientOp& op) {
  op.Set(0, op.CallAlike("MaxPoolGrad", {op.in(0), op.out(), op.dy()}));
});
REGISTER_GRADIENT("MaxPoolV2", [](GradientOp& op) {
  op.Set(0, op.CallAlike("MaxPoolGradV2", {op.in(0), op.out(), op.dy(), op.in(1), op.in(2)}));
});
REGISTER_GRADIENT("MaxPool3D", [](GradientOp& op) {
  op.Set(0, op.CallAlike("MaxPool3DGrad", {op.in(0), op.out(), op.dy()},
                         {{"TInput", op.in(0).dtype()}}));
});
REGISTER_GRADIENT("MaxPoolWithArgmax", [](GradientOp& op) {
  op.Set(0, op.CallAlike("MaxPoolGradWithArgmax", {op.in(0), op.dy(), op.out(1)}));
});
// The gradient goes to the elements that were the largest; which these are does not depend on the
// input smoothly.
void SetZeros(GradientOp& op) {
  for (int i : {0, 1}) {
    if (op.Wants(i)) op.Set(i, ZerosLike(op.in(i)));
  }
}
REGISTER_GRADIENT("MaxPoolGrad", [](GradientOp& op) {
  SetZeros(op);
  op.Set(2, op.CallAlike("MaxPoolGradGrad", {op.in(0), op.in(1), op.dy()}));
});
REGISTER_GRADIENT("MaxPoolGradV2", [](GradientOp& op) {
  SetZeros(op);
  op.Set(2, op.CallAlike("MaxPoolGradGradV2", {op.in(0), op.in(1), op.dy(), op.in(3), op.in(4)}));
});
REGISTER_GRADIENT("MaxPoolGradGrad", [](GradientOp& op) {
  SetZeros(op);
  op.Set(2, op.CallAlike("MaxPoolGrad", {op.in(0), op.in(1), op.dy()}));
});
REGISTER_GRADIENT("MaxPool3DGrad", [](GradientOp& op) {
  SetZeros(op);
  op.Set(2, op.CallAlike("MaxPool3DGradGrad", {op.in(0), op.in(1), op.dy()}));
});
REGISTER_GRADIENT("MaxPool3DGradGrad", [](GradientOp& op) {
  SetZeros(op);
  op.Set(2, op.CallAlike("MaxPool3DGrad", {op.in(0), op.in(1), op.dy()},
                         {{"TInput", op.in(0).dtype()}}));
});

// ---- normalisation ----

REGISTER_GRADIENT("LRN", [](GradientOp& op) {
  op.Set(0, op.CallAlike("LRNGrad", {op.dy(), op.in(0), op.out()}));
});

// ---- sequences ----

// The forward op has computed the gradient already.
REGISTER_GRADIENT("CTCLoss",
                  [](GradientOp& op) { op.Set(0, ExpandDims(op.dy(0), -1) * op.out(1)); });

// Inputs are the length, x, the first state, weights; outputs what each step kept, its state
// (output 1) and its result (output 6).
void BlockLstmGradient(GradientOp& op, absl::string_view name) {
  std::vector<Expr> inputs;
  for (int i = 0; i < op.num_inputs(); ++i) inputs.push_back(op.in(i));
  for (int i = 0; i < op.num_outputs(); ++i) inputs.push_back(op.out(i));
  inputs.push_back(op.dy(1));
  inputs.push_back(op.dy(6));
  const std::vector<Expr> d =
      CallAll(name, inputs, {{"use_peephole", op.attr<bool>("use_peephole")}});
  for (size_t i = 0; i < d.size(); ++i) op.Set(static_cast<int>(i) + 1, d[i]);
}
REGISTER_GRADIENT("BlockLSTM", [](GradientOp& op) { BlockLstmGradient(op, "BlockLSTMGrad"); });
REGISTER_GRADIENT("BlockLSTMV2", [](GradientOp& op) { BlockLstmGradient(op, "BlockLSTMGradV2"); });

// ---- pools of random regions ----

REGISTER_GRADIENT("FractionalAvgPool", [](GradientOp& op) {
  op.Set(0, op.CallAlike("FractionalAvgPoolGrad",
                         {ShapeOf(op.in(0), DType::kInt64), op.dy(), op.out(1), op.out(2)}));
});
REGISTER_GRADIENT("FractionalMaxPool", [](GradientOp& op) {
  op.Set(0, op.CallAlike("FractionalMaxPoolGrad",
                         {op.in(0), op.out(0), op.dy(), op.out(1), op.out(2)}));
});

// The mean over each segment that the regression made equal.
REGISTER_GRADIENT("IsotonicRegression", [](GradientOp& op) {
  GraphBuilder& build = op.build();
  const Expr dy = op.dy(0), shape = ShapeOf(dy);
  const Expr columns = Call("Squeeze", {SliceVector(shape, -1, 0)});
  const Expr count = Call("Size", {dy});
  const Expr position = Call("Range", {build.Int(0), count, build.Int(1)});
  // A segment's number within all rows.
  const Expr segment =
      Reshape(op.out(1), build.Ints({-1})) + position - Call("FloorMod", {position, columns});
  auto sums = [&](const Expr& x) {
    return Call("UnsortedSegmentSum", {Reshape(x, build.Ints({-1})), segment, count});
  };
  const Expr means = Call("DivNoNan", {sums(dy), sums(OnesLike(dy))});
  op.Set(0, Reshape(Call("GatherV2", {means, segment, build.Int(0)}), shape));
});

}  // namespace
}  // namespace tessera

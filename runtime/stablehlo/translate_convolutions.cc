// Convolutions, by way of the op that is best at each: Conv2D, DepthwiseConv2dNative and Conv3D
// where dimensions can be brought into their order, otherwise XlaConvV2.
#include <algorithm>

#include "runtime/stablehlo/translator.h"
#include "xla/xla_data.pb.h"

namespace tessera::stablehlo {
namespace {

Dims Inverse(const Dims& permutation) {
  Dims inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) inverse[permutation[i]] = static_cast<int64_t>(i);
  return inverse;
}

bool IsPermutation(const Dims& dims, size_t rank) {
  Dims sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  return sorted == Ascending(0, static_cast<int64_t>(rank));
}

bool HasOther(const Dims& dims, int64_t usual) {
  return std::any_of(dims.begin(), dims.end(), [&](int64_t d) { return d != usual; });
}

// Where the dimensions of an operand or of the result stand.
struct Order {
  int64_t first, last;  // batch and features; of a kernel, input and output features
  Dims spatial;

  Dims ChannelsLast() const { return Joined({{first}, spatial, {last}}); }
  Dims KernelOfOps() const { return Joined({spatial, {first}, {last}}); }
};

struct Convolution {
  Order input, kernel, output;
  Dims strides, input_dilation, dilation;
  Dims padding;          // before and after each spatial dimension; empty if it is an operand
  Expr dynamic_padding;  // [spatial, 2]; empty if it is an attribute
  int64_t groups = 1, batch_groups = 1;
  std::vector<int32_t> reversed;  // spatial dimensions in which the kernel is turned over

  int spatial() const { return static_cast<int>(strides.size()); }
};

// Reads the attributes that a convolution has with padding of either kind.
Convolution Read(Translator& t, const Operation& op) {
  Convolution c;
  c.input = {t.IntAttr(op, "input_batch_dimension"), t.IntAttr(op, "input_feature_dimension"),
             t.IntsAttr(op, "input_spatial_dimensions")};
  c.kernel = {t.IntAttr(op, "kernel_input_feature_dimension"),
              t.IntAttr(op, "kernel_output_feature_dimension"),
              t.IntsAttr(op, "kernel_spatial_dimensions")};
  c.output = {t.IntAttr(op, "output_batch_dimension"), t.IntAttr(op, "output_feature_dimension"),
              t.IntsAttr(op, "output_spatial_dimensions")};
  c.strides = t.IntsAttr(op, "window_strides");
  c.input_dilation = t.IntsAttr(op, "lhs_dilation");
  c.dilation = t.IntsAttr(op, "rhs_dilation");
  c.groups = t.IntAttr(op, "feature_group_count");
  c.batch_groups = t.IntAttr(op, "batch_group_count");
  const std::vector<bool> reversal = t.BoolsAttr(op, "window_reversal");
  for (size_t i = 0; i < reversal.size(); ++i) {
    if (reversal[i]) c.reversed.push_back(static_cast<int32_t>(i));
  }
  const size_t rank = c.strides.size() + 2;
  for (const Order* order : {&c.input, &c.kernel, &c.output}) {
    if (!IsPermutation(order->ChannelsLast(), rank)) t.Fail("its dimensions are wrong");
  }
  for (ValueId id : {op.operands[0], op.operands[1], op.results[0]}) {
    if (t.type(id).dimensions.size() != rank) t.Fail("its operands are of another rank");
  }
  if (c.input_dilation.size() != rank - 2 || c.dilation.size() != rank - 2 ||
      reversal.size() != rank - 2) {
    t.Fail("its attributes are of another rank than its operands");
  }
  return c;
}

// Convolves over any dimensions in any order.
Expr General(Translator& t, const Convolution& c, const Expr& input, const Expr& kernel) {
  xla::ConvolutionDimensionNumbers numbers;
  numbers.set_input_batch_dimension(c.input.first);
  numbers.set_input_feature_dimension(c.input.last);
  numbers.set_kernel_input_feature_dimension(c.kernel.first);
  numbers.set_kernel_output_feature_dimension(c.kernel.last);
  numbers.set_output_batch_dimension(c.output.first);
  numbers.set_output_feature_dimension(c.output.last);
  for (int i = 0; i < c.spatial(); ++i) {
    numbers.add_input_spatial_dimensions(c.input.spatial[i]);
    numbers.add_kernel_spatial_dimensions(c.kernel.spatial[i]);
    numbers.add_output_spatial_dimensions(c.output.spatial[i]);
  }
  const Expr padding = c.dynamic_padding.empty()
                           ? Reshape(t.Ints(c.padding), t.Ints({c.spatial(), 2}))
                           : c.dynamic_padding;
  return Call("XlaConvV2",
              {input, kernel, t.Ints(c.strides), padding, t.Ints(c.input_dilation),
               t.Ints(c.dilation), t.build().Int(static_cast<int32_t>(c.groups))},
              {{"dimension_numbers", numbers.SerializeAsString()},
               {"precision_config", ""},
               {"preferred_element_type", input.dtype()},
               {"batch_group_count", c.batch_groups}});
}

// Pads an input whose channels are last, and spreads its elements; what is left for the
// convolution needs neither.
Expr Padded(Translator& t, const Expr& input, Convolution* c) {
  Expr low, high;
  if (c->dynamic_padding.empty()) {
    Dims before = {0}, after = {0};
    for (int i = 0; i < c->spatial(); ++i) {
      before.push_back(c->padding[2 * i]);
      after.push_back(c->padding[2 * i + 1]);
    }
    low = t.Ints(Joined({before, {0}}));
    high = t.Ints(Joined({after, {0}}));
  } else {
    const std::vector<Expr> sides =
        CallAll("Unpack", {c->dynamic_padding}, {{"num", int64_t{2}}, {"axis", int64_t{1}}});
    if (sides.size() != 2) return Expr();
    const Expr none = t.build().Ints({0});
    low = Concat({none, sides[0], none}, 0);
    high = Concat({none, sides[1], none}, 0);
  }
  Dims interior = {0};
  for (int64_t dilation : c->input_dilation) interior.push_back(dilation - 1);
  interior.push_back(0);
  c->dynamic_padding = Expr();
  c->padding.assign(2 * c->strides.size(), 0);
  c->input_dilation.assign(c->strides.size(), 1);
  const Expr zero = CastTo(t.build().Int(0), input.dtype());
  return Call("XlaPad", {input, zero, low, high, t.Ints(interior)});
}

// Convolves an input of [batch, height, width, channels].
Expr OverImages(Translator& t, const Convolution& c, const Expr& input, Expr kernel,
                const Dims& hwio) {
  AttrMap attrs = {{"strides", Joined({{1}, c.strides, {1}})},
                   {"dilations", Joined({{1}, c.dilation, {1}})},
                   {"padding", "VALID"}};
  if (HasOther(c.padding, 0)) {
    attrs["padding"] = "EXPLICIT";
    attrs["explicit_paddings"] = Joined({{0, 0}, c.padding, {0, 0}});
  }
  // DepthwiseConv2dNative has one stride for both directions and no dilation. Conv2D, which takes
  // its groups from the number of the kernel's input channels, has both.
  const bool is_depthwise = c.groups > 1 && hwio[2] == 1 && hwio[3] % c.groups == 0 &&
                            c.strides[0] == c.strides[1] && !HasOther(c.dilation, 1);
  if (is_depthwise) {
    kernel = Reshape(kernel, t.Ints({hwio[0], hwio[1], c.groups, hwio[3] / c.groups}));
  }
  return Call(is_depthwise ? "DepthwiseConv2dNative" : "Conv2D", {input, kernel}, attrs);
}

// Convolves an input of [batch, spatial..., channels] over one to three dimensions.
Expr ChannelsLast(Translator& t, Convolution c, Expr input, const Expr& kernel, Dims kernel_dims) {
  const bool is_volume = c.spatial() == 3;
  if (!c.dynamic_padding.empty() || HasOther(c.input_dilation, 1) ||
      std::any_of(c.padding.begin(), c.padding.end(), [](int64_t p) { return p < 0; }) ||
      (is_volume && HasOther(c.padding, 0))) {
    input = Padded(t, input, &c);
  }
  if (is_volume) {
    return Call("Conv3D", {input, kernel},
                {{"strides", Joined({{1}, c.strides, {1}})},
                 {"dilations", Joined({{1}, c.dilation, {1}})},
                 {"padding", "VALID"}});
  }
  if (c.spatial() == 2) return OverImages(t, c, input, kernel, kernel_dims);
  c.strides.insert(c.strides.begin(), 1);
  c.dilation.insert(c.dilation.begin(), 1);
  c.padding.insert(c.padding.begin(), {0, 0});
  kernel_dims.insert(kernel_dims.begin(), 1);
  const Expr result = OverImages(t, c, ExpandDims(input, 1), ExpandDims(kernel, 0), kernel_dims);
  return Call("Squeeze", {result}, {{"squeeze_dims", std::vector<int64_t>{1}}});
}

void Translate(Translator& t, const Operation& op, const Convolution& c) {
  if (!t.status().ok()) return;
  const DType dtype = t.type(op.results[0]).dtype;
  const Expr input = CastTo(t.Full(op.operands[0]), dtype);
  const Expr kernel = CastTo(t.Full(op.operands[1]), dtype);
  const bool is_floating = IsFloating(dtype) && DTypeSize(dtype) > 1;
  const bool has_op = c.spatial() == 1 || c.spatial() == 2 || (c.spatial() == 3 && c.groups == 1);
  if (!has_op || c.batch_groups != 1 || !is_floating) {
    Dims reversed;
    for (int32_t d : c.reversed) reversed.push_back(c.kernel.spatial[d]);
    const Expr turned = reversed.empty() ? kernel : Call("ReverseV2", {kernel, t.Ints(reversed)});
    return t.Set(op.results[0], General(t, c, input, turned));
  }
  Expr ordered = t.Transposed(kernel, c.kernel.KernelOfOps());
  if (!c.reversed.empty()) ordered = Call("ReverseV2", {ordered, t.build().Ints(c.reversed)});
  const Expr result =
      ChannelsLast(t, c, t.Transposed(input, c.input.ChannelsLast()), ordered,
                   Select(t.type(op.operands[1]).dimensions, c.kernel.KernelOfOps()));
  t.Set(op.results[0], t.Transposed(result, Inverse(c.output.ChannelsLast())));
}

void WithStaticPadding(Translator& t, const Operation& op) {
  if (op.operands.size() != 2) return t.Fail("it has another number of operands");
  Convolution c = Read(t, op);
  c.padding = t.IntsAttr(op, "padding");
  if (c.padding.size() != 2 * c.strides.size()) t.Fail("its padding is of another rank");
  Translate(t, op, c);
}

void WithDynamicPadding(Translator& t, const Operation& op) {
  if (op.operands.size() != 3) return t.Fail("it has another number of operands");
  Convolution c = Read(t, op);
  c.dynamic_padding = CastTo(t.Full(op.operands[2]), DType::kInt32);
  Translate(t, op, c);
}

constexpr NamedHandler kHandlers[] = {
    {"convolution", WithStaticPadding},
    {"dynamic_conv", WithDynamicPadding},
};

}  // namespace

absl::Span<const NamedHandler> ConvolutionHandlers() { return kHandlers; }

}  // namespace tessera::stablehlo

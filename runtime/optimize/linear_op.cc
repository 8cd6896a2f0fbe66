#include "runtime/optimize/linear_op.h"

#include <utility>
#include <vector>

#include "runtime/framework/shape_inference.h"
#include "runtime/graph/side_effects.h"
#include "runtime/optimize/constant_node.h"

namespace tessera {
namespace {

int64_t DimOrUnknown(const PartialShape& shape, int rank, int i) {
  return shape.rank() == rank ? shape.dim(i) : -1;
}

bool AttrIs(const Node& node, absl::string_view name, bool value) {
  const auto attr = node.attr<bool>(name);
  return attr.ok() && *attr == value;
}

}  // namespace

bool IsChannelsLast(const Node& node) {
  const auto format = node.attr<std::string>("data_format");
  return format.ok() && *format == "NHWC";
}

PartialShape KnownShape(const Endpoint& endpoint) {
  const Node* node = endpoint.node;
  while (node != nullptr && (node->IsOp("Identity") || node->IsOp("_ScaleWeights"))) {
    node = node->input(0).node;
  }
  if (node == nullptr) return PartialShape();
  if (node->IsOp("Const")) {
    const auto value = node->attrs().find("value");
    const Tensor* tensor = value == node->attrs().end() ? nullptr : value->second.get<Tensor>();
    return tensor == nullptr ? PartialShape() : PartialShape(tensor->shape());
  }
  if (node->IsOp("ReadVariableOp")) {
    const Node* handle = node->input(0).node;
    if (handle != nullptr && handle->IsOp("VarHandleOp")) {
      if (auto shape = handle->attr<PartialShape>("shape"); shape.ok()) return *std::move(shape);
    }
  }
  return PartialShape();
}

PartialShape InferredShape(const Endpoint& endpoint) {
  constexpr int kMaxDepth = 20;
  const auto infer = [](const auto& self, const Endpoint& value, int depth) -> PartialShape {
    PartialShape known = KnownShape(value);
    const Node* const node = value.node;
    if (known.known_rank() || node == nullptr || depth > kMaxDepth || !IsPure(*node) ||
        node->op().shape_fn == nullptr) {
      return known;
    }
    std::vector<PartialShape> inputs;
    std::vector<const Tensor*> values;
    for (const Endpoint& input : node->inputs()) {
      inputs.push_back(self(self, input, depth + 1));
      values.push_back(ConstantValue(input));
    }
    ShapeContext context(node->op(), node->attrs(), std::move(inputs), std::move(values),
                         node->num_outputs());
    if (!node->op().shape_fn(context).ok()) return PartialShape();
    return context.outputs()[value.index];
  };
  return infer(infer, endpoint, 0);
}

bool IsBatchLinear(const Node& node) {
  return node.IsOp("BatchMatMulV2") && AttrIs(node, "adj_x", false) &&
         KnownShape(node.input(1)).rank() == 2;
}

std::optional<LinearOp> AsLinearOp(Node* node) {
  if (node == nullptr) return std::nullopt;
  LinearOp linear{.node = node};
  if (node->IsOp("MatMul")) {
    linear.channels =
        DimOrUnknown(KnownShape(node->input(1)), 2, AttrIs(*node, "transpose_b", true) ? 0 : 1);
    return linear;
  }
  if (node->IsOp("Conv2D")) {
    linear.channels = DimOrUnknown(KnownShape(node->input(1)), 4, 3);
  } else if (node->IsOp("DepthwiseConv2dNative")) {
    const PartialShape filter = KnownShape(node->input(1));
    const int64_t in = DimOrUnknown(filter, 4, 2), multiplier = DimOrUnknown(filter, 4, 3);
    linear.channels = MultiplyWithoutOverflow(in, multiplier);
  } else {
    return std::nullopt;
  }
  linear.channels_last = IsChannelsLast(*node);
  return linear;
}

bool IsPerChannel(const LinearOp& linear, const PartialShape& shape) {
  const int output_rank = linear.node->IsOp("MatMul") ? 2 : 4;
  if (!linear.channels_last || linear.channels < 0 || shape.rank() < 1 ||
      shape.rank() > output_rank || shape.dim(shape.rank() - 1) != linear.channels) {
    return false;
  }
  for (int i = 0; i + 1 < shape.rank(); ++i) {
    if (shape.dim(i) != 1) return false;
  }
  return true;
}

std::optional<ChannelBias> AsChannelBias(Node* node) {
  if (node == nullptr) return std::nullopt;
  if (node->IsOp("BiasAdd")) {
    auto linear = AsLinearOp(node->input(0).node);
    if (!linear.has_value() || IsChannelsLast(*node) != linear->channels_last) return std::nullopt;
    return ChannelBias{*linear, node, node->input(1)};
  }
  if (!node->IsOp("Add") && !node->IsOp("AddV2")) return std::nullopt;
  for (int side : {0, 1}) {
    auto linear = AsLinearOp(node->input(side).node);
    if (linear.has_value() && IsPerChannel(*linear, KnownShape(node->input(1 - side)))) {
      return ChannelBias{*linear, node, node->input(1 - side)};
    }
  }
  return std::nullopt;
}

bool HasScale(const Node& node) {
  const auto num_scales = node.attr<int64_t>("num_scales");
  return num_scales.ok() && *num_scales > 0;
}

bool HasOneUse(const Node& node) {
  return node.num_outputs() == 1 && node.uses(0).size() == 1 && node.control_outputs().empty();
}

}  // namespace tessera

#include "runtime/optimize/fuse_separable_block.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/derived_constants.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

using Ops = std::vector<std::string>;

// Of weights. A block reads them for each image: once they do not stay in a core's cache, that
// costs a pair more than it saves.
constexpr int64_t kMostOfAPair = 256 << 10;

// A convolution that may be a layer of a block.
struct Layer {
  Node* node = nullptr;
  const Tensor* filter = nullptr;  // may yet be scaled
  Ops ops;                         // what follows it
};

bool HasAttr(const Node& node, absl::string_view name, absl::string_view value) {
  const auto attr = node.attr<std::string>(name);
  return attr.ok() && *attr == value;
}

bool AllAre(const Node& node, absl::string_view name, int64_t value) {
  const auto list = node.attr<std::vector<int64_t>>(name);
  return list.ok() &&
         std::all_of(list->begin(), list->end(), [&](int64_t x) { return x == value; });
}

// A convolution of `op` over float images in NHWC with a constant filter, which a bias follows,
// then possibly the addition of a tensor, then possibly a clamping activation.
std::optional<Layer> AsLayer(Node* node, absl::string_view op) {
  if (node == nullptr || !node->IsOp(op) || node->output_type(0) != DType::kFloat ||
      !HasAttr(*node, "data_format", "NHWC")) {
    return std::nullopt;
  }
  auto ops = node->attr<Ops>("fused_ops");
  const Tensor* const filter = UnscaledValue(node->input(1));
  if (!ops.ok() || ops->empty() || (*ops)[0] != "BiasAdd" || filter == nullptr ||
      filter->rank() != 4 || filter->num_elements() == 0) {
    return std::nullopt;
  }
  // A model may hold such nodes of its own, with fewer inputs than their ops need.
  const bool adds = ops->size() > 1 && (*ops)[1] == "Add";
  if (node->num_inputs() != (adds ? 4 : 3)) return std::nullopt;
  const std::string& last = ops->back();
  if (last != "BiasAdd" && last != "Add" && last != "Relu" && last != "Relu6") return std::nullopt;
  return Layer{node, filter, *std::move(ops)};
}

std::optional<Layer> AsPointwise(Node* node) {
  auto layer = AsLayer(node, "_FusedConv2D");
  if (!layer.has_value() || layer->filter->dim(0) != 1 || layer->filter->dim(1) != 1 ||
      !AllAre(*node, "strides", 1) || HasAttr(*node, "padding", "EXPLICIT") || HasScale(*node)) {
    return std::nullopt;
  }
  return layer;
}

bool IsFinite(const Tensor& filter) {
  const auto values = filter.flat<float>();
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

std::optional<Layer> AsDepthwise(const OptimizationItem& item, Node* node) {
  auto layer = AsLayer(node, "_FusedDepthwiseConv2dNative");
  if (!layer.has_value() || layer->filter->dim(3) != 1 || PresentValue(node->input(1)) == nullptr) {
    return std::nullopt;
  }
  // What lies beyond an image is multiplied, as zeros.
  const bool is_finite = IsFinite(*layer->filter);
  const int64_t number = DerivedNumber(*node->input(1).node);
  const IntrusivePtr<DerivedConstants> derived = DerivedConstants::Of(item);
  if (number >= 0 && derived != nullptr) derived->NoteCondition(number, IsFinite, is_finite);
  return is_finite ? layer : std::nullopt;
}

// The channels of images that another convolution makes; -1 if something else does.
int64_t ChannelsOf(const Endpoint& images) {
  const bool is_block = images.node->IsOp("_SeparableBlock");
  if (!is_block && !images.node->IsOp("_FusedConv2D")) return -1;
  if (!is_block && !HasAttr(*images.node, "data_format", "NHWC")) return -1;
  const int filter = is_block ? images.node->num_inputs() / 2 : 1;
  const Tensor* const value = UnscaledValue(images.node->input(filter));
  return value == nullptr || value->rank() != 4 ? -1 : value->dim(3);
}

bool Adds(const Layer& layer) { return layer.ops.size() > 1 && layer.ops[1] == "Add"; }

class Matcher {
 public:
  explicit Matcher(const OptimizationItem& item) : item_(item) {}

  // The layers of the block that ends in `node`; none if no block does.
  std::vector<Layer> Match(Node* node) const {
    auto project = AsPointwise(node);
    if (!project.has_value() || item_.IsPreserved(node)) return {};
    auto depthwise = AsDepthwise(item_, node->input(0).node);
    if (!depthwise.has_value() || !MayGo(*depthwise->node, *node) || Adds(*depthwise) ||
        depthwise->filter->dim(2) != project->filter->dim(2)) {
      return {};
    }
    std::vector<Layer> layers = {*depthwise, *project};
    auto expand = AsPointwise(depthwise->node->input(0).node);
    if (expand.has_value() && MayGo(*expand->node, *node) && !Adds(*expand) &&
        expand->filter->dim(2) == ChannelsOf(expand->node->input(0)) &&
        expand->filter->dim(3) == depthwise->filter->dim(2)) {
      layers.insert(layers.begin(), *expand);
    }
    const bool is_pair = layers.size() == 2;
    if (is_pair && project->filter->num_elements() > kMostOfAPair) return {};
    if (Adds(*project) && !AddsInput(layers)) return {};
    return layers;
  }

 private:
  bool MayGo(const Node& node, const Node& last) const {
    return HasOneUse(node) && node.control_inputs().empty() && !item_.IsPreserved(&node) &&
           node.device() == last.device();
  }

  // True if what the last layer adds is the block's input, and of the output's shape.
  static bool AddsInput(const std::vector<Layer>& layers) {
    const Layer &depthwise = layers[layers.size() - 2], &project = layers.back();
    const int64_t channels = layers[0].filter->dim(2);
    return project.node->input(3) == layers[0].node->input(0) &&
           AllAre(*depthwise.node, "strides", 1) && HasAttr(*depthwise.node, "padding", "SAME") &&
           project.filter->dim(3) == channels;
  }

  const OptimizationItem& item_;
};

absl::Status Fuse(const std::vector<Layer>& layers, Graph* graph) {
  const Layer &depthwise = layers[layers.size() - 2], &project = layers.back();
  AttrMap attrs = {{"num_layers", static_cast<int64_t>(layers.size())},
                   {"depthwise_ops", depthwise.ops},
                   {"project_ops", project.ops}};
  if (layers.size() == 3) attrs.insert_or_assign("expand_ops", layers[0].ops);
  for (const char* name : {"T", "strides", "padding", "explicit_paddings", "dilations"}) {
    const auto attr = depthwise.node->attrs().find(name);
    if (attr != depthwise.node->attrs().end()) attrs.insert_or_assign(name, attr->second);
  }
  std::vector<Endpoint> inputs = {layers[0].node->input(0)};
  for (int argument : {1, 2}) {
    for (const Layer& layer : layers) inputs.push_back(layer.node->input(argument));
  }
  return ReplaceNode(graph, project.node, "_SeparableBlock", std::move(attrs), inputs).status();
}

}  // namespace

absl::Status FuseSeparableBlockPass::Run(OptimizationItem& item, bool* changed) const {
  const Matcher matcher(item);
  for (int id = 0, end = item.graph->id_bound(); id < end; ++id) {
    if (item.graph->node(id) == nullptr) continue;
    const std::vector<Layer> layers = matcher.Match(item.graph->node(id));
    if (layers.empty() || !item.HasKernel("_SeparableBlock", *layers.back().node)) continue;
    RETURN_IF_ERROR(Fuse(layers, item.graph));
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera

#include "runtime/optimize/fold_pad.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"

namespace tessera {
namespace {

using Paddings = std::vector<int64_t>;  // before and after, a pair for each of four dimensions

bool IsZero(const Tensor* value) {
  return value != nullptr && value->dtype() == DType::kFloat && value->num_elements() == 1 &&
         value->flat<float>()[0] == 0;
}

// What a Pad adds to the rows and columns of images; nullopt if it does anything else.
std::optional<Paddings> ImagePaddings(const Node& pad) {
  if (!pad.IsOp("Pad") && !(pad.IsOp("PadV2") && IsZero(ConstantValue(pad.input(2))))) {
    return std::nullopt;
  }
  const auto paddings = ConstantInts(pad.input(1));
  if (!paddings.has_value() || ConstantValue(pad.input(1))->shape() != Shape{4, 2}) {
    return std::nullopt;
  }
  for (int i = 0; i < 8; ++i) {
    const int64_t amount = (*paddings)[i];
    if (amount < 0 || (amount > 0 && (i < 2 || i > 5))) return std::nullopt;
  }
  return paddings;
}

bool IsNeverNegative(const Node* node) {
  if (node == nullptr) return false;
  if (node->IsOp("Relu") || node->IsOp("Relu6")) return true;
  const auto fused = node->attr<std::vector<std::string>>("fused_ops");
  return fused.ok() && !fused->empty() && (fused->back() == "Relu" || fused->back() == "Relu6");
}

// The paddings that `window` would have with those of `pad` added; nullopt if it cannot.
std::optional<Paddings> Combined(const Node& window, const Node& pad, const Paddings& padded) {
  const bool is_pool = window.IsOp("MaxPool");
  if (!is_pool && !window.IsOp("Conv2D") && !window.IsOp("DepthwiseConv2dNative")) {
    return std::nullopt;
  }
  const auto format = window.attr<std::string>("data_format");
  const auto padding = window.attr<std::string>("padding");
  if (!format.ok() || *format != "NHWC" || !padding.ok() || *padding == "SAME") {
    return std::nullopt;
  }
  if (is_pool) {
    // A window over nothing but padding has no maximum of its own.
    const auto ksize = window.attr<std::vector<int64_t>>("ksize");
    if (!ksize.ok() || ksize->size() != 4 ||
        (*ksize)[3] != 1 ||  // one over channels has no padding
        !IsNeverNegative(pad.input(0).node)) {
      return std::nullopt;
    }
    for (int i = 2; i < 6; ++i) {
      if (padded[i] >= (*ksize)[i / 2]) return std::nullopt;
    }
  }
  Paddings result = padded;
  if (*padding == "EXPLICIT") {
    const auto own = window.attr<std::vector<int64_t>>("explicit_paddings");
    if (is_pool || !own.ok() || own->size() != 8) return std::nullopt;
    for (int i = 0; i < 8; ++i) result[i] += (*own)[i];
  }
  return result;
}

}  // namespace

absl::Status FoldPadPass::Run(OptimizationItem& item, bool* changed) const {
  Graph& graph = *item.graph;
  for (int id = 0, end = graph.id_bound(); id < end; ++id) {
    Node* pad = graph.node(id);
    if (pad == nullptr || pad->num_outputs() != 1 || !pad->control_inputs().empty()) continue;
    const std::optional<Paddings> padded = ImagePaddings(*pad);
    if (!padded.has_value()) continue;
    const std::vector<Use> uses = pad->uses(0);
    for (const Use& use : uses) {
      Node* window = use.node;
      if (use.index != 0 || item.IsPreserved(window) || window->device() != pad->device() ||
          window->input_type(0) != DType::kFloat) {
        continue;
      }
      const std::optional<Paddings> paddings = Combined(*window, *pad, *padded);
      if (!paddings.has_value()) continue;
      AttrMap attrs = window->attrs();
      attrs.insert_or_assign("padding", std::string("EXPLICIT"));
      attrs.insert_or_assign("explicit_paddings", *paddings);
      // Images without rows or columns have nothing but padding, which the pool must know.
      if (window->IsOp("MaxPool")) attrs.insert_or_assign("_pads_zeros", true);
      std::vector<Endpoint> inputs = window->inputs();
      inputs[0] = pad->input(0);
      ASSIGN_OR_RETURN(
          Node * padding_window,
          graph.AddNode(graph.UniqueName(window->name() + "/padded"), window->op_name(),
                        std::move(attrs), inputs, window->device()));
      RETURN_IF_ERROR(graph.ReplaceUses({window, 0}, {padding_window, 0}));
      for (Node* control : window->control_inputs()) graph.AddControlEdge(control, padding_window);
      graph.MoveControlOutputs(window, padding_window);
      graph.Remove(window);
      *changed = true;
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera

#include "runtime/optimize/merge_biases.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

// The value, if it is a constant float vector of the linear op's channels.
const Tensor* ChannelVector(const LinearOp& linear, const Endpoint& from) {
  const Tensor* value = ConstantValue(from);
  return value != nullptr && value->dtype() == DType::kFloat &&
                 IsPerChannel(linear, PartialShape(value->shape()))
             ? value
             : nullptr;
}

struct Match {
  ChannelBias inner;
  const Tensor* inner_bias = nullptr;
  const Tensor* outer_bias = nullptr;
  float sign = 1;
};

class Merger {
 public:
  explicit Merger(const OptimizationItem& item) : item_(item), graph_(*item.graph) {}

  std::optional<Match> Find(Node* node) const {
    const bool is_sub = node->IsOp("Sub");
    const bool is_bias_add = node->IsOp("BiasAdd");
    if (item_.IsPreserved(node) || (is_bias_add && !IsChannelsLast(*node)) ||
        (!is_sub && !is_bias_add && !node->IsOp("Add") && !node->IsOp("AddV2"))) {
      return std::nullopt;
    }
    for (int side : {0, 1}) {
      if (side == 1 && !node->IsOp("Add") && !node->IsOp("AddV2")) break;
      Node* before = node->input(side).node;
      if (before == nullptr || item_.IsPreserved(before) || !HasOneUse(*before) ||
          before->device() != node->device()) {
        continue;
      }
      const auto inner = AsChannelBias(before);
      if (!inner.has_value()) continue;
      Match match{.inner = *inner, .sign = is_sub ? -1.0f : 1.0f};
      match.inner_bias = ChannelVector(inner->linear, inner->bias);
      match.outer_bias = ChannelVector(inner->linear, node->input(1 - side));
      if (match.inner_bias != nullptr && match.outer_bias != nullptr) return match;
    }
    return std::nullopt;
  }

  absl::Status Merge(const Match& match, Node* outer) {
    Node* inner = match.inner.node;
    const int64_t channels = match.inner.linear.channels;
    ASSIGN_OR_RETURN(Tensor sum, Tensor::Allocate(DType::kFloat, {channels}));
    for (int64_t i = 0; i < channels; ++i) {
      sum.data<float>()[i] =
          match.inner_bias->data<float>()[i] + match.sign * match.outer_bias->data<float>()[i];
    }
    ASSIGN_OR_RETURN(Node * bias, AddConstant(&graph_, absl::StrCat(outer->name(), "/biases"),
                                              std::move(sum), outer->device()));
    ASSIGN_OR_RETURN(Node * merged,
                     graph_.AddNode(graph_.UniqueName(absl::StrCat(outer->name(), "/biased")),
                                    "BiasAdd", {{"T", DType::kFloat}},
                                    {{match.inner.linear.node, 0}, {bias, 0}}, outer->device()));
    RETURN_IF_ERROR(graph_.ReplaceUses({outer, 0}, {merged, 0}));
    RemoveReplaced(&graph_, {inner, outer}, merged);
    return absl::OkStatus();
  }

 private:
  const OptimizationItem& item_;
  Graph& graph_;
};

}  // namespace

absl::Status MergeBiasesPass::Run(OptimizationItem& item, bool* changed) const {
  Merger merger(item);
  for (int id = 0, end = item.graph->id_bound(); id < end; ++id) {
    Node* node = item.graph->node(id);
    if (node == nullptr) continue;
    const std::optional<Match> match = merger.Find(node);
    if (!match.has_value()) continue;
    RETURN_IF_ERROR(merger.Merge(*match, node));
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera

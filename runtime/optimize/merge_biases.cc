#include "runtime/optimize/merge_biases.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/derived_constants.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

// True of a constant float vector of the linear op's channels.
bool IsChannelVector(const LinearOp& linear, const Endpoint& from) {
  const Tensor* value = PresentValue(from);
  return value != nullptr && value->dtype() == DType::kFloat &&
         IsPerChannel(linear, PartialShape(value->shape()));
}

struct Match {
  ChannelBias inner;
  Endpoint outer_bias;
  float sign = 1;
};

absl::StatusOr<std::vector<Tensor>> Sum(const Tensor& inner, float sign, const Tensor& outer) {
  const int64_t channels = inner.num_elements();
  ASSIGN_OR_RETURN(Tensor sum, Tensor::Allocate(DType::kFloat, {channels}));
  for (int64_t i = 0; i < channels; ++i) {
    sum.data<float>()[i] = inner.data<float>()[i] + sign * outer.data<float>()[i];
  }
  return std::vector<Tensor>{std::move(sum)};
}

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
      match.outer_bias = node->input(1 - side);
      if (IsChannelVector(inner->linear, inner->bias) &&
          IsChannelVector(inner->linear, match.outer_bias)) {
        return match;
      }
    }
    return std::nullopt;
  }

  absl::Status Merge(const Match& match, Node* outer) {
    Node* inner = match.inner.node;
    const auto compute = [sign = match.sign](const DerivedConstants::Host&,
                                             absl::Span<const Tensor> biases) {
      return Sum(biases[0], sign, biases[1]);
    };
    ASSIGN_OR_RETURN(
        const std::vector<Node*> biases,
        AddComputedConstants(item_, absl::StrCat("biases, sign ", match.sign),
                             {match.inner.bias, match.outer_bias}, compute,
                             {absl::StrCat(outer->name(), "/biases")}, outer->device()));
    Node* const bias = biases[0];
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

#include "runtime/optimize/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/fold_constants.h"
#include "runtime/optimize/linear_op.h"

namespace tessera {
namespace {

// y = x * scale + shift, a value a channel.
struct Affine {
  std::vector<double> scale, shift;
};

// A constant float vector of the channels, whatever its rank; nullopt if it is something else.
std::optional<absl::Span<const float>> ChannelValues(const LinearOp& linear, const Endpoint& from) {
  const Tensor* value = ConstantValue(from);
  if (value == nullptr || value->dtype() != DType::kFloat ||
      !IsPerChannel(linear, PartialShape(value->shape()))) {
    return std::nullopt;
  }
  return value->flat<float>();
}

bool IsInferenceBatchNorm(const Node& node) {
  if (!node.IsOp("FusedBatchNorm") && !node.IsOp("FusedBatchNormV2") &&
      !node.IsOp("FusedBatchNormV3")) {
    return false;
  }
  const auto training = node.attr<bool>("is_training");
  if (!training.ok() || *training) return false;
  for (int i = 1; i < node.num_outputs(); ++i) {
    if (!node.uses(i).empty()) return false;
  }
  return true;
}

// A linear op with the nodes after it that are to vanish into its weights.
struct Match {
  LinearOp linear;
  Node* bias_add = nullptr;  // null if there is none
  Endpoint bias;
  Node* affine_node = nullptr;
  Affine affine;
};

class Folder {
 public:
  explicit Folder(const OptimizationItem& item) : item_(item), graph_(*item.graph) {}

  std::optional<Match> Find(Node* node) const {
    if (item_.IsPreserved(node)) return std::nullopt;
    if (IsInferenceBatchNorm(*node)) {
      auto match = FindLinear(node, node->input(0).node);
      if (match.has_value() && SetBatchNorm(*node, &*match)) return match;
    } else if (node->IsOp("Mul")) {
      for (int side : {0, 1}) {
        auto match = FindLinear(node, node->input(side).node);
        if (!match.has_value()) continue;
        const auto factors = ChannelValues(match->linear, node->input(1 - side));
        if (!factors.has_value()) continue;
        match->affine.scale.assign(factors->begin(), factors->end());
        match->affine.shift.assign(factors->size(), 0);
        return match;
      }
    }
    return std::nullopt;
  }

  absl::Status Fold(Match& match) {
    Node* linear = match.linear.node;
    const int64_t channels = match.linear.channels;
    Endpoint weights = linear->input(1);
    ASSIGN_OR_RETURN(Tensor scale, Tensor::Allocate(DType::kDouble, {channels}));
    std::copy(match.affine.scale.begin(), match.affine.scale.end(), scale.data<double>());
    if (weights.node->IsOp("_ScaleWeights")) {
      const auto before = ConstantValue(weights.node->input(1))->flat<double>();
      for (int64_t i = 0; i < channels; ++i) scale.data<double>()[i] *= before[i];
      weights = weights.node->input(0);
    }
    ASSIGN_OR_RETURN(Tensor bias, Tensor::Allocate(DType::kFloat, {channels}));
    bool has_bias = false;
    for (int64_t i = 0; i < channels; ++i) {
      const double old =
          match.bias_add == nullptr ? 0 : ConstantValue(match.bias)->flat<float>()[i];
      bias.data<float>()[i] =
          static_cast<float>(old * match.affine.scale[i] + match.affine.shift[i]);
      has_bias |= bias.data<float>()[i] != 0;
    }

    Node* last = match.affine_node;
    const std::string& name = last->name();
    const std::string& device = linear->device();
    ASSIGN_OR_RETURN(Node * factors,
                     AddConstant(&graph_, name + "/scale", std::move(scale), device));
    ASSIGN_OR_RETURN(Node * scaled,
                     graph_.AddNode(graph_.UniqueName(name + "/weights"), "_ScaleWeights",
                                    {{"T", DType::kFloat}}, {weights, {factors, 0}}, device));
    ASSIGN_OR_RETURN(Node * result,
                     graph_.AddNode(graph_.UniqueName(name + "/scaled"), linear->op_name(),
                                    linear->attrs(), {linear->input(0), {scaled, 0}}, device));
    const Node* const product = result;
    if (has_bias) {
      ASSIGN_OR_RETURN(Node * shift, AddConstant(&graph_, name + "/bias", std::move(bias), device));
      ASSIGN_OR_RETURN(result,
                       graph_.AddNode(graph_.UniqueName(name + "/biased"), "BiasAdd",
                                      {{"T", DType::kFloat}}, {{result, 0}, {shift, 0}}, device));
    }
    RETURN_IF_ERROR(graph_.ReplaceUses({last, 0}, {result, 0}));
    std::vector<Node*> old = {linear, last};
    if (match.bias_add != nullptr) old.push_back(match.bias_add);
    for (Node* node : old) {
      for (Node* control : node->control_inputs()) {
        if (std::find(old.begin(), old.end(), control) == old.end()) {
          graph_.AddControlEdge(control, graph_.node(product->id()));
        }
      }
    }
    for (Node* node : old) graph_.MoveControlOutputs(node, result);
    for (Node* node : old) graph_.Remove(node);
    return product->IsOp("Conv2D") ? absl::OkStatus() : FoldNode(item_, scaled).status();
  }

 private:
  // Matches `node`, whose operand comes from `before`, as linear op, bias and what scales them.
  std::optional<Match> FindLinear(Node* node, Node* before) const {
    if (before == nullptr || item_.IsPreserved(before) || !HasOneUse(*before)) return std::nullopt;
    Match match{.affine_node = node};
    if (const auto biased = AsChannelBias(before); biased.has_value()) {
      match.linear = biased->linear;
      match.bias_add = before;
      match.bias = biased->bias;
      if (!ChannelValues(match.linear, match.bias).has_value() ||
          item_.IsPreserved(match.linear.node) || !HasOneUse(*match.linear.node)) {
        return std::nullopt;
      }
    } else if (const auto linear = AsLinearOp(before); linear.has_value()) {
      match.linear = *linear;
    } else {
      return std::nullopt;
    }
    const Node& linear = *match.linear.node;
    const Tensor* weights = UnscaledValue(linear.input(1));
    const auto transposed = linear.attr<bool>("transpose_b");
    // The channels must be the weights' last dimension, or the last two of a depthwise filter.
    if (weights == nullptr || weights->dtype() != DType::kFloat || !match.linear.channels_last ||
        match.linear.channels <= 0 || (transposed.ok() && *transposed) ||
        linear.device() != node->device()) {
      return std::nullopt;
    }
    return match;
  }

  static bool SetBatchNorm(const Node& node, Match* match) {
    const auto format = node.attr<std::string>("data_format");
    const auto epsilon = node.attr<float>("epsilon");
    if (!format.ok() || *format != "NHWC" || !epsilon.ok()) return false;
    const auto scale = ChannelValues(match->linear, node.input(1));
    const auto offset = ChannelValues(match->linear, node.input(2));
    const auto mean = ChannelValues(match->linear, node.input(3));
    const auto variance = ChannelValues(match->linear, node.input(4));
    if (!scale || !offset || !mean || !variance) return false;
    for (size_t i = 0; i < scale->size(); ++i) {
      const double s = (*scale)[i] / std::sqrt(double{(*variance)[i]} + *epsilon);
      match->affine.scale.push_back(s);
      match->affine.shift.push_back((*offset)[i] - (*mean)[i] * s);
    }
    return true;
  }

  const OptimizationItem& item_;
  Graph& graph_;
};

}  // namespace

absl::Status FoldBatchNormPass::Run(OptimizationItem& item, bool* changed) const {
  Folder folder(item);
  for (int id = 0, end = item.graph->id_bound(); id < end; ++id) {
    if (item.graph->node(id) == nullptr) continue;
    std::optional<Match> match = folder.Find(item.graph->node(id));
    if (!match.has_value()) continue;
    RETURN_IF_ERROR(folder.Fold(*match));
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera

#include "runtime/optimize/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/derived_constants.h"
#include "runtime/optimize/fold_constants.h"
#include "runtime/optimize/linear_op.h"

namespace tessera {
namespace {

// A constant float vector of the channels, whatever its rank.
bool IsChannelVector(const LinearOp& linear, const Endpoint& from) {
  const Tensor* value = PresentValue(from);
  return value != nullptr && value->dtype() == DType::kFloat &&
         IsPerChannel(linear, PartialShape(value->shape()));
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
  // What the node does to each channel: the factor of a multiplication, or the scale, offset, mean
  // and variance of a batch normalization.
  std::vector<Endpoint> parameters;
  float epsilon = 0;
};

// y = x * scale + shift.
struct Affine {
  double scale = 1, shift = 0;
};

Affine AffineOf(absl::Span<const Tensor> parameters, float epsilon, int64_t channel) {
  const auto value = [&](int i) { return parameters[i].data<float>()[channel]; };
  if (parameters.size() == 1) return {.scale = value(0)};
  const double scale = value(0) / std::sqrt(double{value(3)} + epsilon);
  return {.scale = scale, .shift = value(1) - value(2) * scale};
}

// The scale and the bias of the folded op, of the parameters, then the old bias if there is one,
// then the scale that the weights have already, if they have one.
absl::StatusOr<std::vector<Tensor>> ScaleAndBias(absl::Span<const Tensor> constants,
                                                 size_t num_parameters, bool has_bias,
                                                 float epsilon) {
  const auto parameters = constants.subspan(0, num_parameters);
  const auto rest = constants.subspan(num_parameters);
  const bool is_scaled = rest.size() > (has_bias ? 1 : 0);
  const int64_t channels = parameters[0].num_elements();
  ASSIGN_OR_RETURN(Tensor scale, Tensor::Allocate(DType::kDouble, {channels}));
  ASSIGN_OR_RETURN(Tensor bias, Tensor::Allocate(DType::kFloat, {channels}));
  for (int64_t i = 0; i < channels; ++i) {
    const Affine affine = AffineOf(parameters, epsilon, i);
    const double old = has_bias ? rest[0].data<float>()[i] : 0;
    bias.data<float>()[i] = static_cast<float>(old * affine.scale + affine.shift);
    scale.data<double>()[i] = affine.scale * (is_scaled ? rest.back().data<double>()[i] : 1);
  }
  return std::vector<Tensor>{std::move(scale), std::move(bias)};
}

// True if the bias may be left out, whatever the variables hold.
bool IsZeroInAllSessions(const Node& bias) {
  const auto value = bias.attr<Tensor>("value");
  if (DerivedNumber(bias) >= 0 || !value.ok()) return false;
  const auto floats = value->flat<float>();
  return std::all_of(floats.begin(), floats.end(), [](float x) { return x == 0; });
}

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
        if (!IsChannelVector(match->linear, node->input(1 - side))) continue;
        match->parameters = {node->input(1 - side)};
        return match;
      }
    }
    return std::nullopt;
  }

  absl::Status Fold(Match& match) {
    Node* linear = match.linear.node;
    Endpoint weights = linear->input(1);
    std::vector<Endpoint> constants = match.parameters;
    const bool had_bias = match.bias_add != nullptr;
    if (had_bias) constants.push_back(match.bias);
    if (weights.node->IsOp("_ScaleWeights")) {
      constants.push_back(weights.node->input(1));
      weights = weights.node->input(0);
    }
    const auto compute = [had_bias, num_parameters = match.parameters.size(),
                          epsilon = match.epsilon](const DerivedConstants::Host&,
                                                   absl::Span<const Tensor> values) {
      return ScaleAndBias(values, num_parameters, had_bias, epsilon);
    };
    Node* last = match.affine_node;
    const std::string& name = last->name();
    const std::string& device = linear->device();
    ASSIGN_OR_RETURN(
        const std::vector<Node*> computed,
        AddComputedConstants(
            item_, absl::StrCat("batch norm ", had_bias, " ", AttrValue(match.epsilon).ToString()),
            constants, compute, {name + "/scale", name + "/bias"}, device));
    Node *const factors = computed[0], *const shift = computed[1];
    // A factor alone adds nothing.
    const bool adds = had_bias || match.parameters.size() > 1;
    const bool has_bias = adds && !IsZeroInAllSessions(*shift);
    ASSIGN_OR_RETURN(Node * scaled,
                     graph_.AddNode(graph_.UniqueName(name + "/weights"), "_ScaleWeights",
                                    {{"T", DType::kFloat}}, {weights, {factors, 0}}, device));
    ASSIGN_OR_RETURN(Node * result,
                     graph_.AddNode(graph_.UniqueName(name + "/scaled"), linear->op_name(),
                                    linear->attrs(), {linear->input(0), {scaled, 0}}, device));
    const Node* const product = result;
    if (has_bias) {
      ASSIGN_OR_RETURN(result,
                       graph_.AddNode(graph_.UniqueName(name + "/biased"), "BiasAdd",
                                      {{"T", DType::kFloat}}, {{result, 0}, {shift, 0}}, device));
    }
    if (!has_bias) graph_.Remove(shift);
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
      if (!IsChannelVector(match.linear, match.bias) || item_.IsPreserved(match.linear.node) ||
          !HasOneUse(*match.linear.node)) {
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
    for (int i = 1; i <= 4; ++i) {
      if (!IsChannelVector(match->linear, node.input(i))) return false;
      match->parameters.push_back(node.input(i));
    }
    match->epsilon = *epsilon;
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

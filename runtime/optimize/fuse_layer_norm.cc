#include "runtime/optimize/fuse_layer_norm.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/control_flow.h"
#include "runtime/optimize/factors.h"
#include "runtime/optimize/inferred_shapes.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

bool IsAdd(const Node* node) { return node->IsOp("Add") || node->IsOp("AddV2"); }

// The operand of a binary node that is not `one`; nullopt if `one` is neither.
std::optional<Endpoint> Other(const Node& node, const Endpoint& one) {
  if (node.input(0) == one) return node.input(1);
  if (node.input(1) == one) return node.input(0);
  return std::nullopt;
}

// A vector of more than one element, perhaps with leading dimensions of 1; its rank and length.
struct VectorShape {
  int rank = 0;
  int64_t length = 0;
  friend bool operator==(const VectorShape&, const VectorShape&) = default;
};
std::optional<VectorShape> AsVector(const Endpoint& value) {
  const PartialShape shape = KnownShape(value);
  if (shape.rank() < 1 || shape.dim(shape.rank() - 1) <= 1) return std::nullopt;
  for (int i = 0; i + 1 < shape.rank(); ++i) {
    if (shape.dim(i) != 1) return std::nullopt;
  }
  return VectorShape{shape.rank(), shape.dim(shape.rank() - 1)};
}

// The one axis of a Mean with kept dimensions; nullopt for anything else.
std::optional<int64_t> MeanAxis(const Node& mean) {
  const auto keeps = mean.IsOp("Mean") ? mean.attr<bool>("keep_dims") : absl::StatusOr<bool>(false);
  if (!keeps.ok() || !*keeps) return std::nullopt;
  const auto axes = ConstantInts(mean.input(1));
  if (!axes.has_value() || axes->size() != 1) return std::nullopt;
  return axes->front();
}

struct Match {
  Endpoint x, gamma, beta, mean;
  double epsilon = 0;
  int64_t axis = 0;
  const Node* centred = nullptr;  // x - mean, in the form that has it
};

// Reads `root` as rsqrt(variance of x + epsilon).
bool MatchDeviation(const Node& root, const Endpoint& x, Match* match) {
  if (!root.IsOp("Rsqrt")) return false;
  const auto variance = PlusConstant(root.input(0), &match->epsilon);
  if (!variance.has_value()) return false;
  const auto axis = MeanAxis(*variance->node);
  if (!axis.has_value()) return false;
  const Node* const square = variance->node->input(0).node;
  std::optional<Endpoint> mean;
  if (square->IsOp("SquaredDifference")) {
    mean = Other(*square, x);
  } else if (square->IsOp("Square") && square->input(0).node == match->centred) {
    mean = match->centred->input(1);
  }
  if (!mean.has_value() || MeanAxis(*mean->node) != axis || !(mean->node->input(0) == x)) {
    return false;
  }
  match->x = x;
  match->mean = *mean;
  match->axis = *axis;
  return true;
}

// Reads `scale` as rsqrt(variance of x + epsilon) * gamma.
bool MatchScale(const Endpoint& scale, const Endpoint& x, Match* match) {
  if (!scale.node->IsOp("Mul")) return false;
  for (int side : {0, 1}) {
    if (!MatchDeviation(*scale.node->input(side).node, x, match)) continue;
    match->gamma = scale.node->input(1 - side);
    return true;
  }
  return false;
}

// Reads `shift` as beta - mean * scale.
bool MatchShift(const Endpoint& shift, const Endpoint& scale, Match* match) {
  // True if `value` is mean * scale times `sign`.
  const auto is_product = [&](const Endpoint& value, double sign) {
    if (!value.node->IsOp("Mul")) return false;
    const auto mean = Other(*value.node, scale);
    if (!mean.has_value()) return false;
    if (sign > 0) return *mean == match->mean;
    return mean->node->IsOp("Neg") && mean->node->input(0) == match->mean;
  };
  const Node& node = *shift.node;
  if (node.IsOp("Sub") && is_product(node.input(1), 1)) {
    match->beta = node.input(0);
    return true;
  }
  if (!IsAdd(&node)) return false;
  for (int side : {0, 1}) {
    if (is_product(node.input(side), -1)) {
      match->beta = node.input(1 - side);
      return true;
    }
  }
  return false;
}

// Reads `product` as (x - mean) * rsqrt(variance of x + epsilon) * gamma, in any order.
bool MatchCentred(const Endpoint& product, Match* match) {
  const Factors factors = FactorsOf(product);
  if (factors.factors.size() != 3 || factors.scale != 1) return false;
  for (int i = 0; i < 3; ++i) {
    const Node* const centred = factors.factors[i].node;
    if (!centred->IsOp("Sub")) continue;
    match->centred = centred;
    for (int j = 0; j < 3; ++j) {
      if (j == i || !MatchDeviation(*factors.factors[j].node, centred->input(0), match)) continue;
      match->gamma = factors.factors[3 - i - j];
      return match->mean == centred->input(1);
    }
  }
  return false;
}

// Gamma and beta are vectors along the last axis, which is that of the means.
bool HasVectors(Match* match) {
  const auto gamma = AsVector(match->gamma), beta = AsVector(match->beta);
  // An axis from the front is the last one if the parameters were reshaped to x's rank. A plain
  // vector tells nothing of that.
  if (!gamma.has_value() || gamma != beta ||
      (match->axis != -1 && (gamma->rank == 1 || match->axis != gamma->rank - 1))) {
    return false;
  }
  return true;
}

std::optional<Match> Find(const Node& root) {
  for (int side : {0, 1}) {
    Match centred{.beta = root.input(1 - side)};
    if (MatchCentred(root.input(side), &centred) && HasVectors(&centred)) return centred;
    const Node* scaled = root.input(side).node;
    if (!scaled->IsOp("Mul")) continue;
    for (int i : {0, 1}) {
      const Endpoint x = scaled->input(i), scale = scaled->input(1 - i);
      Match match;
      if (!MatchScale(scale, x, &match) || !MatchShift(root.input(1 - side), scale, &match)) {
        continue;
      }
      if (HasVectors(&match)) return match;
    }
  }
  return std::nullopt;
}

// Whether the parameters of a match are known not to lie along x's last axis: they broadcast x, or
// the axis is another one.
bool IsOtherBroadcast(const Match& match, const PartialShape& x) {
  const std::optional<VectorShape> gamma = AsVector(match.gamma);
  if (x.rank() < 0 || !gamma.has_value()) return false;
  if (x.rank() < gamma->rank || (match.axis >= 0 && match.axis != x.rank() - 1)) return true;
  const int64_t width = x.dim(x.rank() - 1);
  return width >= 0 && width != gamma->length;
}

// The ids of the roots whose pattern is not that of a layer's normalisation for this reason.
std::set<int> OtherBroadcasts(const Graph& graph, absl::FunctionRef<bool(const Node*)> is_root) {
  std::set<int> ids;
  std::vector<std::pair<int, Match>> matches;
  for (const Node* node : graph.nodes()) {
    if (!is_root(node)) continue;
    if (const auto match = Find(*node)) matches.emplace_back(node->id(), *match);
  }
  if (matches.empty() || HasControlFlow(graph)) return ids;
  const auto order = TopologicalOrder(graph);
  if (!order.ok()) return ids;
  const InferredShapes shapes(*order);
  for (const auto& [id, match] : matches) {
    if (IsOtherBroadcast(match, shapes.of(match.x))) ids.insert(id);
  }
  return ids;
}

// The sum that x is, if only the pattern that ends in `root` uses it.
const Node* OwnSum(const OptimizationItem& item, const Match& match, const Node& root) {
  const Node* sum = match.x.node;
  if (!IsAdd(sum) || item.IsPreserved(sum) || sum->device() != root.device()) return nullptr;
  std::vector<const Node*> users = {match.mean.node};
  for (const Endpoint& operand : root.inputs()) users.push_back(operand.node);
  if (match.centred != nullptr) users.push_back(match.centred);
  for (const Use& use : sum->uses(0)) {
    if (use.node->IsOp("SquaredDifference") && Other(*use.node, match.mean).has_value()) {
      users.push_back(use.node);
    }
  }
  // The pieces themselves must be for nobody else.
  for (const Node* user : users) {
    if (item.IsPreserved(user)) return nullptr;
  }
  return HasOtherUsers(*sum, users) ? nullptr : sum;
}

}  // namespace

absl::Status FuseLayerNormPass::Run(OptimizationItem& item, bool* changed) const {
  const auto is_root = [&](const Node* node) {
    return IsAdd(node) && node->output_type(0) == DType::kFloat && !item.IsPreserved(node) &&
           item.HasKernel("_LayerNorm", *node);
  };
  const std::set<int> others = OtherBroadcasts(*item.graph, is_root);
  for (Node* root : item.graph->nodes()) {
    if (!is_root(root) || others.contains(root->id())) continue;
    const std::optional<Match> match = Find(*root);
    if (!match.has_value()) continue;
    std::vector<Endpoint> inputs = {match->x, match->gamma, match->beta};
    if (const Node* sum = OwnSum(item, *match, *root); sum != nullptr) {
      inputs[0] = sum->input(0);
      inputs.push_back(sum->input(1));
    }
    AttrMap attrs = {{"T", DType::kFloat},
                     {"num_addends", static_cast<int64_t>(inputs.size() - 3)},
                     {"epsilon", static_cast<float>(match->epsilon)},
                     {"axis", match->axis}};
    RETURN_IF_ERROR(
        ReplacePattern(item.graph, root, "_LayerNorm", std::move(attrs), inputs).status());
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera

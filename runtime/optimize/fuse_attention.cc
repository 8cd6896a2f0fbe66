#include "runtime/optimize/fuse_attention.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/factors.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

// A tensor of rank 4 in the order batch, heads, tokens, features, or with tokens before heads.
struct Operand {
  Endpoint value;
  bool heads_first = true;
};

bool IsTranspose(const Node* node, std::vector<int64_t> permutation) {
  const Tensor* given = node->IsOp("Transpose") ? ConstantValue(node->input(1)) : nullptr;
  if (given == nullptr || given->num_elements() != 4) return false;
  for (int i = 0; i < 4; ++i) {
    const int64_t axis =
        given->dtype() == DType::kInt32 ? given->flat<int32_t>()[i] : given->flat<int64_t>()[i];
    if (axis != permutation[i]) return false;
  }
  return true;
}

// What a Transpose from [batch, tokens, heads, features] reads; nullopt for anything else, whose
// rank is not known.
std::optional<Operand> Transposed(const Endpoint& value) {
  if (!IsTranspose(value.node, {0, 2, 1, 3})) return std::nullopt;
  return Operand{value.node->input(0), /*heads_first=*/false};
}

// The labels of a two-operand equation with four labels each; empty if it is another.
std::vector<std::string> Labels(const Node& einsum) {
  const auto equation = einsum.attr<std::string>("equation");
  if (!equation.ok() || einsum.num_inputs() != 2) return {};
  std::vector<std::string> labels =
      absl::StrSplit(*equation, absl::ByAnyChar(",->"), absl::SkipEmpty());
  if (labels.size() != 3) return {};
  for (const std::string& one : labels) {
    if (one.size() != 4 || one.find_first_of(". ") != std::string::npos) return {};
    for (char label : one) {
      if (std::count(one.begin(), one.end(), label) != 1) return {};
    }
  }
  return labels;
}

// Labels of an operand: batch and heads, then tokens and features.
std::optional<bool> HeadsFirst(const std::string& labels, char batch, char heads, char tokens,
                               char features) {
  if (labels == std::string{batch, heads, tokens, features}) return true;
  if (labels == std::string{batch, tokens, heads, features}) return false;
  return std::nullopt;
}

struct Match {
  Operand query, key, value;
  bool output_heads_first = true;
  bool broadcasts = false;  // as BatchMatMulV2 does, Einsum does not
  double scale = 1;
  std::optional<Endpoint> mask;
};

// scores[b, n, t, s] = sum over h of query[b, n, t, h] * key[b, n, s, h]
bool MatchScores(const Node& node, Match* match) {
  if (node.IsOp("Einsum")) {
    const std::vector<std::string> labels = Labels(node);
    if (labels.empty()) return false;
    const char b = labels[2][0], n = labels[2][1], t = labels[2][2], s = labels[2][3];
    for (int query : {0, 1}) {
      const std::string &q = labels[query], &k = labels[1 - query];
      // Heads and features are told apart by the scores, which have no features.
      const char h = q[3];
      const auto q_order = HeadsFirst(q, b, n, t, h), k_order = HeadsFirst(k, b, n, s, h);
      if (!q_order.has_value() || !k_order.has_value()) continue;
      match->query = {node.input(query), *q_order};
      match->key = {node.input(1 - query), *k_order};
      return true;
    }
    return false;
  }
  if (!node.IsOp("BatchMatMulV2")) return false;
  const auto adjoint_x = node.attr<bool>("adj_x"), adjoint_y = node.attr<bool>("adj_y");
  if (!adjoint_x.ok() || *adjoint_x || !adjoint_y.ok()) return false;
  const auto query = Transposed(node.input(0));
  std::optional<Operand> key;
  if (*adjoint_y) {
    key = Transposed(node.input(1));
  } else if (const Node* transpose = node.input(1).node; IsTranspose(transpose, {0, 2, 3, 1})) {
    key = Operand{transpose->input(0), /*heads_first=*/false};
  }
  if (!query.has_value() || !key.has_value()) return false;
  match->query = *query;
  match->key = *key;
  match->broadcasts = true;
  return true;
}

// The node of rank 4 with one use; null otherwise.
Node* Inner(const OptimizationItem& item, const Endpoint& value, const Node& user) {
  Node* node = value.node;
  return node != nullptr && !item.IsPreserved(node) && HasOneUse(*node) &&
                 node->device() == user.device()
             ? node
             : nullptr;
}

// Reads `weights` as softmax(scale * scores + mask).
bool MatchWeights(const OptimizationItem& item, Node* softmax, Match* match) {
  if (!softmax->IsOp("Softmax")) return false;
  Node* logits = Inner(item, softmax->input(0), *softmax);
  if (logits == nullptr) return false;
  const auto scaled = [&](Node* node) {
    if (MatchScores(*node, match)) return true;
    double scale = 1;
    Endpoint inner;
    if (node->IsOp("Mul") || node->IsOp("RealDiv")) {
      for (int side : {0, 1}) {
        const auto constant = ScalarConstant(node->input(side));
        if (!constant.has_value() || (node->IsOp("RealDiv") && side == 0)) continue;
        scale = node->IsOp("Mul") ? *constant : 1 / *constant;
        inner = node->input(1 - side);
      }
    }
    Node* scores = inner.node == nullptr ? nullptr : Inner(item, inner, *node);
    if (scores == nullptr || !MatchScores(*scores, match)) return false;
    match->scale = scale;
    return true;
  };
  if (scaled(logits)) return true;
  if (!logits->IsOp("Add") && !logits->IsOp("AddV2")) return false;
  for (int side : {0, 1}) {
    Node* scores = Inner(item, logits->input(side), *logits);
    if (scores == nullptr || !scaled(scores)) continue;
    match->mask = logits->input(1 - side);
    return true;
  }
  return false;
}

// output[b, n, t, h] = sum over s of weights[b, n, t, s] * value[b, n, s, h]. Sets what is left of
// *match. `node` is replaced by the Transpose that follows it, if that is all that does.
bool MatchOutput(const OptimizationItem& item, Node** node, Match* match, Node** softmax) {
  Node* product = *node;
  int weights = 0;
  if (product->IsOp("Einsum")) {
    const std::vector<std::string> labels = Labels(*product);
    bool found = false;
    for (int side : {0, 1}) {
      if (labels.empty() || found || !product->input(side).node->IsOp("Softmax")) continue;
      const std::string &w = labels[side], &v = labels[1 - side];
      const char b = w[0], n = w[1], t = w[2], s = w[3], h = v[3];
      const auto value_order = HeadsFirst(v, b, n, s, h);
      const auto output_order = HeadsFirst(labels[2], b, n, t, h);
      if (!value_order.has_value() || !output_order.has_value()) continue;
      match->value = {product->input(1 - side), *value_order};
      match->output_heads_first = *output_order;
      weights = side;
      found = true;
    }
    if (!found) return false;
  } else if (product->IsOp("BatchMatMulV2")) {
    const auto adjoint_x = product->attr<bool>("adj_x"), adjoint_y = product->attr<bool>("adj_y");
    const auto value = Transposed(product->input(1));
    if (!adjoint_x.ok() || *adjoint_x || !adjoint_y.ok() || *adjoint_y || !value.has_value()) {
      return false;
    }
    match->value = *value;
    if (HasOneUse(*product) && !item.IsPreserved(product)) {
      Node* next = product->uses(0)[0].node;
      if (IsTranspose(next, {0, 2, 1, 3}) && product->uses(0)[0].index == 0 &&
          !item.IsPreserved(next) && next->device() == product->device()) {
        match->output_heads_first = false;
        *node = next;
      }
    }
  } else {
    return false;
  }
  *softmax = Inner(item, product->input(weights), *product);
  return *softmax != nullptr;
}

}  // namespace

absl::Status FuseAttentionPass::Run(OptimizationItem& item, bool* changed) const {
  for (int id = 0, end = item.graph->id_bound(); id < end; ++id) {
    Node* last = item.graph->node(id);
    if (last == nullptr || item.IsPreserved(last) || last->num_outputs() != 1 ||
        last->output_type(0) != DType::kFloat) {
      continue;
    }
    const bool is_einsum = last->IsOp("Einsum");
    Match match;
    Node* softmax = nullptr;
    if (!MatchOutput(item, &last, &match, &softmax) || !MatchWeights(item, softmax, &match) ||
        is_einsum == match.broadcasts) {
      continue;
    }
    std::vector<Endpoint> inputs = {match.query.value, match.key.value, match.value.value};
    if (match.mask.has_value()) inputs.push_back(*match.mask);
    AttrMap attrs = {
        {"T", DType::kFloat},
        {"num_masks", static_cast<int64_t>(match.mask.has_value())},
        {"scale", static_cast<float>(match.scale)},
        {"broadcasts", match.broadcasts},
        {"heads_first", std::vector<bool>{match.query.heads_first, match.key.heads_first,
                                          match.value.heads_first, match.output_heads_first}}};
    RETURN_IF_ERROR(ReplaceNode(item.graph, last, "_Attention", std::move(attrs), inputs).status());
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera

#include "runtime/optimize/fuse_attention.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/control_flow.h"
#include "runtime/optimize/inferred_shapes.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

// Scores have batch, heads, queries and keys. Constants of fewer dimensions leave that so.
constexpr int kScoresRank = 4;

// The value of a scalar constant: of float, half or bfloat16, and of at most the rank of scores.
std::optional<double> ScalarOf(const Endpoint& value) {
  const Tensor* constant = value.node == nullptr ? nullptr : ConstantValue(value);
  if (constant == nullptr || constant->num_elements() != 1 || constant->rank() > kScoresRank) {
    return std::nullopt;
  }
  switch (constant->dtype()) {
    case DType::kFloat:
      return constant->flat<float>()[0];
    case DType::kHalf:
      return static_cast<double>(constant->flat<Eigen::half>()[0]);
    case DType::kBfloat16:
      return static_cast<double>(constant->flat<Eigen::bfloat16>()[0]);
    default:
      return std::nullopt;
  }
}

// A tensor of rank 4 in the order batch, heads, tokens, features, or with tokens before heads.
struct Operand {
  Endpoint value;
  bool heads_first = true;
};

bool IsTranspose(const Node* node, const std::vector<int64_t>& permutation) {
  return node->IsOp("Transpose") && ConstantInts(node->input(1)) == permutation;
}

// The values whose rank is known to be 4 before the run. Nodes that are added later do not count.
class ValuesOfRankFour {
 public:
  // Finds none in a graph with control flow, or without the products of an attention layer.
  explicit ValuesOfRankFour(const Graph& graph) {
    const std::vector<Node*> nodes = graph.nodes();
    const bool has_softmax = std::any_of(nodes.begin(), nodes.end(),
                                         [](const Node* node) { return node->IsOp("Softmax"); });
    if (!has_softmax || HasControlFlow(graph)) return;
    const auto order = TopologicalOrder(graph);
    if (!order.ok()) return;
    const InferredShapes shapes(*order);
    for (const Node* node : *order) {
      for (int i = 0; i < node->num_outputs(); ++i) {
        if (shapes.of(*node, i).rank() == 4) values_.insert({node->id(), i});
      }
    }
  }
  bool Contains(const Endpoint& value) const {
    return values_.contains({value.node->id(), value.index});
  }

 private:
  absl::flat_hash_set<std::pair<int, int>> values_;
};

// Reads an operand of a batched product: what a Transpose from [batch, tokens, heads, features]
// reads, or the value itself. nullopt if its rank is not known.
std::optional<Operand> OperandOf(const Endpoint& value, const ValuesOfRankFour& rank_four) {
  if (IsTranspose(value.node, {0, 2, 1, 3})) {
    return Operand{value.node->input(0), /*heads_first=*/false};
  }
  if (!rank_four.Contains(value)) return std::nullopt;
  return Operand{value, /*heads_first=*/true};
}

// The same for an operand whose tokens and features are swapped.
std::optional<Operand> SwappedOperandOf(const Endpoint& value, const ValuesOfRankFour& rank_four) {
  Node* transpose = value.node;
  if (IsTranspose(transpose, {0, 2, 3, 1})) return Operand{transpose->input(0), false};
  if (!IsTranspose(transpose, {0, 1, 3, 2})) return std::nullopt;
  const auto operand = OperandOf(transpose->input(0), rank_four);
  return operand.has_value() ? operand : Operand{transpose->input(0), /*heads_first=*/true};
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
  std::vector<Endpoint> masks;   // added to the scores
  std::optional<Endpoint> keep;  // true where scores count; where not, they are `masked`
  double masked = 0;
  bool keeps_images = false;  // a vector `keep` is about images, as it is in Select
  bool drops = false;         // `keep` is true where scores do not count
};

bool IsNarrow(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBfloat16; }

// scores[b, n, t, s] = sum over h of query[b, n, t, h] * key[b, n, s, h]
bool MatchScores(const ValuesOfRankFour& rank_four, const Node& node, Match* match) {
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
  const auto query = OperandOf(node.input(0), rank_four);
  const auto key =
      *adjoint_y ? OperandOf(node.input(1), rank_four) : SwappedOperandOf(node.input(1), rank_four);
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

// What a Cast from half or bfloat16 to float reads, if it is its only user; else the node itself.
Node* BeforeWidening(const OptimizationItem& item, Node* node) {
  if (!node->IsOp("Cast") || node->output_type(0) != DType::kFloat ||
      !IsNarrow(node->input_type(0))) {
    return node;
  }
  Node* narrow = Inner(item, node->input(0), *node);
  return narrow == nullptr ? node : narrow;
}

// The Softmax that `weights` comes from, maybe by way of a Cast to half or bfloat16; null if it is
// another node.
Node* SoftmaxOf(const Endpoint& weights) {
  Node* node = weights.node;
  if (node->IsOp("Cast") && IsNarrow(node->output_type(0)) && HasOneUse(*node)) {
    node = node->input(0).node;
  }
  return node->IsOp("Softmax") ? node : nullptr;
}

// Reads `node` as scale * scores + masks.
bool MatchLogits(const OptimizationItem& item, const ValuesOfRankFour& rank_four, Node* node,
                 int num_masks, Match* match) {
  constexpr int kMaxMasks = 3;
  node = BeforeWidening(item, node);
  if (MatchScores(rank_four, *node, match)) return true;
  if (node->IsOp("Mul") || node->IsOp("RealDiv")) {
    for (int side : {0, 1}) {
      const auto constant = ScalarOf(node->input(side));
      if (!constant.has_value() || (node->IsOp("RealDiv") && side == 0)) continue;
      Node* scores = Inner(item, node->input(1 - side), *node);
      if (scores == nullptr || !MatchScores(rank_four, *BeforeWidening(item, scores), match)) {
        continue;
      }
      match->scale = node->IsOp("Mul") ? *constant : 1 / *constant;
      return true;
    }
    return false;
  }
  if ((!node->IsOp("Add") && !node->IsOp("AddV2")) || num_masks == kMaxMasks) return false;
  for (int side : {0, 1}) {
    Node* rest = Inner(item, node->input(side), *node);
    if (rest == nullptr || !MatchLogits(item, rank_four, rest, num_masks + 1, match)) continue;
    match->masks.push_back(node->input(1 - side));
    return true;
  }
  return false;
}

// The Shape that `value`, a Fill, takes its shape from, if that is the shape of x.
Node* ShapeFilled(const OptimizationItem& item, const Endpoint& value, const Endpoint& x,
                  const Node& user) {
  Node* fill = value.node->IsOp("Fill") ? Inner(item, value, user) : nullptr;
  if (fill == nullptr || !fill->input(0).node->IsOp("Shape")) return nullptr;
  Node* shape = Inner(item, fill->input(0), *fill);
  return shape != nullptr && shape->input(0) == x ? shape : nullptr;
}

// A value that is the same everywhere, and the Shape of x that it is made by, if it is.
struct Uniform {
  double value = 0;
  Node* shape = nullptr;
};

// Reads `value` as a scalar constant c, Fill(Shape(x), c), or the product of both kinds.
std::optional<Uniform> AsUniform(const OptimizationItem& item, const Endpoint& value,
                                 const Endpoint& x, const Node& user) {
  if (const auto scalar = ScalarOf(value); scalar.has_value()) return Uniform{*scalar};
  if (Node* shape = ShapeFilled(item, value, x, user); shape != nullptr) {
    const auto scalar = ScalarOf(value.node->input(1));
    return scalar.has_value() ? std::optional<Uniform>({*scalar, shape}) : std::nullopt;
  }
  Node* product = value.node->IsOp("Mul") ? Inner(item, value, user) : nullptr;
  if (product == nullptr) return std::nullopt;
  for (int side : {0, 1}) {
    const auto factor = ScalarOf(product->input(side));
    Node* shape = ShapeFilled(item, product->input(1 - side), x, *product);
    if (!factor.has_value() || shape == nullptr) continue;
    const auto scalar = ScalarOf(product->input(1 - side).node->input(1));
    if (scalar.has_value()) return Uniform{*factor * *scalar, shape};
  }
  return std::nullopt;
}

// Drops from `keep` what says "everywhere where x is": LogicalAnd(Fill(Shape(x), true), keep).
// Returns the Shape, or null.
Node* DropEverywhere(const OptimizationItem& item, const Endpoint& x, const Node& user,
                     Endpoint* keep) {
  Node* both = keep->node->IsOp("LogicalAnd") ? Inner(item, *keep, user) : nullptr;
  if (both == nullptr) return nullptr;
  for (int side : {0, 1}) {
    Node* shape = ShapeFilled(item, both->input(side), x, *both);
    if (shape == nullptr) continue;
    const Tensor* filled = ConstantValue(both->input(side).node->input(1));
    if (filled == nullptr || filled->num_elements() != 1 || !filled->flat<bool>()[0]) continue;
    *keep = both->input(1 - side);
    return shape;
  }
  return nullptr;
}

// Reads `select` as scores where a mask is true, or where it is false if `drops`, and a number
// elsewhere. Returns the scores, which only `select`, and what makes masks of their shape for it,
// may use; null if it is another.
Node* MatchSelectOf(const OptimizationItem& item, const Node& select, bool drops, Match* match) {
  const bool is_v1 = select.IsOp("Select");
  if (!is_v1 && !select.IsOp("SelectV2")) return nullptr;
  const Endpoint scores = select.input(drops ? 2 : 1);
  const auto masked = AsUniform(item, select.input(drops ? 1 : 2), scores, select);
  // Select wants a value of the scores' own shape.
  if (!masked.has_value() || (is_v1 && masked->shape == nullptr)) return nullptr;
  Endpoint keep = select.input(0);
  // LogicalAnd leaves true what everywhere is true.
  const Node* everywhere = DropEverywhere(item, scores, select, &keep);
  const std::vector<const Node*> users = {&select, masked->shape, everywhere};
  if (item.IsPreserved(scores.node) || scores.node->num_outputs() != 1 ||
      scores.node->device() != select.device() || HasOtherUsers(*scores.node, users)) {
    return nullptr;
  }
  match->keep = keep;
  match->masked = masked->value;
  match->keeps_images = is_v1 && everywhere == nullptr;
  match->drops = drops;
  return scores.node;
}

Node* MatchSelect(const OptimizationItem& item, const Node& select, Match* match) {
  Node* scores = MatchSelectOf(item, select, /*drops=*/false, match);
  return scores != nullptr ? scores : MatchSelectOf(item, select, /*drops=*/true, match);
}

// Reads `softmax` as softmax(scale * scores + masks), or that of a Select between them and a
// number.
bool MatchWeights(const OptimizationItem& item, const ValuesOfRankFour& rank_four, Node* softmax,
                  Match* match) {
  if (!softmax->IsOp("Softmax")) return false;
  Node* logits = Inner(item, softmax->input(0), *softmax);
  if (logits == nullptr) return false;
  Node* scores = MatchSelect(item, *logits, match);
  return MatchLogits(item, rank_four, scores == nullptr ? logits : scores, 0, match);
}

// The Transpose of `product` to [batch, tokens, heads, features], if nothing else uses the product
// but nodes that take its shape, which are added to `shapes`; null otherwise.
Node* TransposeAfter(const OptimizationItem& item, const Node& product,
                     std::vector<Node*>* shapes) {
  if (item.IsPreserved(&product) || !product.control_outputs().empty()) return nullptr;
  Node* transpose = nullptr;
  std::vector<Node*> found;
  for (const Use& use : product.uses(0)) {
    if (item.IsPreserved(use.node) || use.node->device() != product.device()) return nullptr;
    if (use.node->IsOp("Shape")) {
      found.push_back(use.node);
    } else if (transpose == nullptr && use.index == 0 && IsTranspose(use.node, {0, 2, 1, 3})) {
      transpose = use.node;
    } else {
      return nullptr;
    }
  }
  // Shapes are computed on the host, and so is what is taken from them.
  const bool is_on_host = product.device().empty() || product.device() == item.host()->full_name();
  if (!found.empty() && !is_on_host) return nullptr;
  if (transpose != nullptr) *shapes = std::move(found);
  return transpose;
}

// Lets `shape`, the Shape of a product, be computed from that of `swapped`, in which tokens stand
// before heads.
absl::Status TakeShapeOf(Graph* graph, Node* swapped, Node* shape) {
  ASSIGN_OR_RETURN(Node * dims,
                   graph->AddNode(graph->UniqueName(absl::StrCat(shape->name(), "/swapped")),
                                  "Shape", shape->attrs(), {{swapped, 0}}, shape->device()));
  ASSIGN_OR_RETURN(Node * order,
                   AddConstant(graph, absl::StrCat(shape->name(), "/order"),
                               Tensor::Vector<int32_t>({0, 2, 1, 3}), shape->device()));
  ASSIGN_OR_RETURN(Node * axis, AddConstant(graph, absl::StrCat(shape->name(), "/axis"),
                                            Tensor::Scalar<int32_t>(0), shape->device()));
  AttrMap attrs = {
      {"Tparams", shape->output_type(0)}, {"Tindices", DType::kInt32}, {"Taxis", DType::kInt32}};
  return ReplaceNode(graph, shape, "GatherV2", std::move(attrs), {{dims, 0}, {order, 0}, {axis, 0}})
      .status();
}

// output[b, n, t, h] = sum over s of weights[b, n, t, s] * value[b, n, s, h]. Sets what is left of
// *match. `node` is replaced by the Transpose that follows it, if that and nodes that take its
// shape, which are added to `shapes`, are all that do.
bool MatchOutput(const OptimizationItem& item, const ValuesOfRankFour& rank_four, Node** node,
                 Match* match, Node** softmax, std::vector<Node*>* shapes) {
  Node* product = *node;
  int weights = 0;
  if (product->IsOp("Einsum")) {
    const std::vector<std::string> labels = Labels(*product);
    bool found = false;
    for (int side : {0, 1}) {
      if (labels.empty() || found || SoftmaxOf(product->input(side)) == nullptr) continue;
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
    const auto value = OperandOf(product->input(1), rank_four);
    if (!adjoint_x.ok() || *adjoint_x || !adjoint_y.ok() || *adjoint_y || !value.has_value()) {
      return false;
    }
    match->value = *value;
    if (Node* transpose = TransposeAfter(item, *product, shapes); transpose != nullptr) {
      match->output_heads_first = false;
      *node = transpose;
    }
  } else {
    return false;
  }
  if (Inner(item, product->input(weights), *product) == nullptr) return false;
  *softmax = SoftmaxOf(product->input(weights));
  return *softmax != nullptr && !item.IsPreserved(*softmax) && HasOneUse(**softmax) &&
         (*softmax)->device() == product->device();
}

DType TypeOf(const Endpoint& value) { return value.node->output_type(value.index); }

bool HaveType(const std::vector<Endpoint>& values, DType dtype) {
  return std::all_of(values.begin(), values.end(),
                     [dtype](const Endpoint& value) { return TypeOf(value) == dtype; });
}

}  // namespace

absl::Status FuseAttentionPass::Run(OptimizationItem& item, bool* changed) const {
  const ValuesOfRankFour rank_four(*item.graph);
  for (int id = 0, end = item.graph->id_bound(); id < end; ++id) {
    Node* last = item.graph->node(id);
    if (last == nullptr || item.IsPreserved(last) || last->num_outputs() != 1 ||
        (last->output_type(0) != DType::kFloat && !IsNarrow(last->output_type(0))) ||
        !item.HasKernel("_Attention", *last)) {
      continue;
    }
    const DType dtype = last->output_type(0);
    const bool is_einsum = last->IsOp("Einsum");
    Match match;
    Node* softmax = nullptr;
    std::vector<Node*> shapes;
    if (!MatchOutput(item, rank_four, &last, &match, &softmax, &shapes) ||
        !MatchWeights(item, rank_four, softmax, &match) || is_einsum == match.broadcasts) {
      continue;
    }
    const DType mask_dtype = match.masks.empty() ? DType::kFloat : TypeOf(match.masks[0]);
    if (!HaveType({match.query.value, match.key.value, match.value.value}, dtype) ||
        !HaveType(match.masks, mask_dtype)) {
      continue;
    }
    AttrMap attrs = {
        {"T", dtype},
        {"Tmask", mask_dtype},
        {"num_masks", static_cast<int64_t>(match.masks.size())},
        {"num_keeps", static_cast<int64_t>(match.keep.has_value())},
        {"scale", static_cast<float>(match.scale)},
        {"masked", static_cast<float>(match.masked)},
        {"keeps_images", match.keeps_images},
        {"broadcasts", match.broadcasts},
        {"heads_first", std::vector<bool>{match.query.heads_first, match.key.heads_first,
                                          match.value.heads_first, match.output_heads_first}}};
    if (!item.HasKernel("_Attention", *last, attrs)) continue;
    std::vector<Endpoint> inputs = {match.query.value, match.key.value, match.value.value};
    inputs.insert(inputs.end(), match.masks.begin(), match.masks.end());
    if (match.drops) {
      ASSIGN_OR_RETURN(Node * keep,
                       item.graph->AddNode(item.graph->UniqueName(last->name() + "/keep"),
                                           "LogicalNot", {}, {*match.keep}, last->device()));
      match.keep = Endpoint{keep, 0};
    }
    if (match.keep.has_value()) inputs.push_back(*match.keep);
    ASSIGN_OR_RETURN(Node * attention,
                     ReplacePattern(item.graph, last, "_Attention", std::move(attrs), inputs));
    for (Node* shape : shapes) RETURN_IF_ERROR(TakeShapeOf(item.graph, attention, shape));
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera

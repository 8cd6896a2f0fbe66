#include "runtime/optimize/fuse_elementwise.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/control_flow.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

// Steps of a group at most: each may need scratch memory of its own.
constexpr int kMaxSteps = 100;
// Fewer nodes stay as they are: they save little, and models of a few scalars are made of such.
constexpr size_t kMinGroup = 3;

bool IsFusibleOp(absl::string_view op) {
  static const auto* const kOps = new absl::flat_hash_set<absl::string_view>{"Abs",
                                                                             "Add",
                                                                             "AddN",
                                                                             "AddV2",
                                                                             "Div",
                                                                             "DivNoNan",
                                                                             "Elu",
                                                                             "EluGrad",
                                                                             "Erf",
                                                                             "Erfc",
                                                                             "Exp",
                                                                             "Expm1",
                                                                             "Inv",
                                                                             "InvGrad",
                                                                             "Log",
                                                                             "Log1p",
                                                                             "Maximum",
                                                                             "Minimum",
                                                                             "Mul",
                                                                             "MulNoNan",
                                                                             "Neg",
                                                                             "RealDiv",
                                                                             "Reciprocal",
                                                                             "ReciprocalGrad",
                                                                             "Relu",
                                                                             "Relu6",
                                                                             "Relu6Grad",
                                                                             "ReluGrad",
                                                                             "Rsqrt",
                                                                             "RsqrtGrad",
                                                                             "Selu",
                                                                             "SeluGrad",
                                                                             "Sigmoid",
                                                                             "SigmoidGrad",
                                                                             "Sign",
                                                                             "Softplus",
                                                                             "SoftplusGrad",
                                                                             "Softsign",
                                                                             "SoftsignGrad",
                                                                             "Sqrt",
                                                                             "SqrtGrad",
                                                                             "Square",
                                                                             "SquaredDifference",
                                                                             "Sub",
                                                                             "Tanh",
                                                                             "TanhGrad"};
  return kOps->contains(op);
}

// Ops of bools, which are fused with the SelectV2 that they decide, so that bools are never stored.
bool IsCondition(const Node& node) {
  static const auto* const kComparisons = new absl::flat_hash_set<absl::string_view>{
      "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "NotEqual"};
  if (node.IsOp("LogicalAnd") || node.IsOp("LogicalOr") || node.IsOp("LogicalNot")) return true;
  if (!kComparisons->contains(node.op_name())) return false;
  const auto fails = node.attr<bool>("incompatible_shape_error");
  return node.input_type(0) == DType::kFloat && (!fails.ok() || *fails);
}

// Returns how many steps of a program the node is made of: a sum of n values takes n - 1 additions.
int NumSteps(const Node& node) { return node.IsOp("AddN") ? node.num_inputs() - 1 : 1; }

bool IsFusible(const OptimizationItem& item, const Node& node) {
  const bool is_known =
      IsCondition(node) || ((IsFusibleOp(node.op_name()) || node.IsOp("SelectV2")) &&
                            node.output_type(0) == DType::kFloat);
  return is_known && NumSteps(node) >= 1 && NumSteps(node) <= kMaxSteps &&
         node.control_inputs().empty() && node.control_outputs().empty() &&
         !item.IsPreserved(&node);
}

// The axis that a Split or a ConcatV2 names as a constant in input `i`.
std::optional<int64_t> ConstantAxis(const Node& node, int i) {
  const Tensor* const axis = ConstantValue(node.input(i));
  if (axis == nullptr || axis->num_elements() != 1) return std::nullopt;
  return axis->dtype() == DType::kInt32   ? std::optional<int64_t>(axis->scalar<int32_t>())
         : axis->dtype() == DType::kInt64 ? std::optional<int64_t>(axis->scalar<int64_t>())
                                          : std::nullopt;
}

// Finds the groups. Nodes belong together if an edge or a ConcatV2 connects them and both have the
// same depth: the number of times that a path to the node goes from elementwise nodes to others or
// back, at most. A path that leaves a group thus comes back deeper, if at all. A function of one
// value that only deeper elementwise nodes use is as deep as the first of them: what a gradient
// needs is then made where it is used, and not stored in between.
class Groups {
 public:
  // Nodes of `left_out` are in no group.
  Groups(const OptimizationItem& item, const std::vector<Node*>& order,
         const absl::flat_hash_set<const Node*>& left_out)
      : depth_(item.graph->id_bound()),
        parent_(item.graph->id_bound()),
        fusible_(parent_.size()),
        group_of_(parent_.size(), -1) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const Node* node : order) {
      fusible_[node->id()] = IsFusible(item, *node) && !left_out.contains(node);
      for (const Endpoint& from : node->inputs()) Deepen(*node, *from.node);
      for (const Node* from : node->control_inputs()) Deepen(*node, *from);
    }
    for (auto node = order.rbegin(); node != order.rend(); ++node) SinkToUses(**node);
    for (const Node* node : order) {
      if (fusible_[node->id()]) {
        for (const Endpoint& from : node->inputs()) Join(*from.node, *node);
      } else if (node->IsOp("ConcatV2")) {
        for (const Endpoint& from : node->inputs()) Join(*from.node, *node->input(0).node);
      }
    }
    absl::flat_hash_map<int, size_t> index;
    std::vector<int> num_steps;  // by group
    for (Node* node : order) {
      if (!fusible_[node->id()]) continue;
      const auto [it, is_new] = index.try_emplace(Root(node->id()), groups_.size());
      // The nodes before any place of a topological order are a group without ways back, too.
      if (is_new || num_steps[it->second] + NumSteps(*node) > kMaxSteps) {
        it->second = groups_.size();
        groups_.emplace_back();
        num_steps.push_back(0);
      }
      groups_[it->second].push_back(node);
      num_steps[it->second] += NumSteps(*node);
      group_of_[node->id()] = static_cast<int>(it->second);
    }
  }

  // Adds the nodes that cannot stay in their group, because a bool would go into it or out of it.
  // Returns true if there are any.
  bool FindMisplaced(absl::flat_hash_set<const Node*>* misplaced) const {
    const size_t before = misplaced->size();
    const auto check = [&](const Node& from, const Node& to) {
      if (group_of_[from.id()] == group_of_[to.id()]) return;
      for (const Node* node : {&from, &to}) {
        if (group_of_[node->id()] >= 0) misplaced->insert(node);
      }
    };
    for (const std::vector<Node*>& group : groups_) {
      for (const Node* node : group) {
        for (int i = 0; i < node->num_inputs(); ++i) {
          if (node->input_type(i) == DType::kBool) check(*node->input(i).node, *node);
        }
        if (node->output_type(0) != DType::kBool) continue;
        for (const Use& use : node->uses(0)) check(*node, *use.node);
      }
    }
    return misplaced->size() > before;
  }

  // The nodes of each group in topological order.
  const std::vector<std::vector<Node*>>& groups() const { return groups_; }

 private:
  void Deepen(const Node& node, const Node& from) {
    int& depth = depth_[node.id()];
    const bool crosses = fusible_[node.id()] != fusible_[from.id()];
    depth = std::max(depth, depth_[from.id()] + (crosses ? 1 : 0));
  }

  // Keeps the depth from decreasing along any edge, and increasing where an edge leaves or enters
  // the elementwise nodes: all uses of the node are elementwise ones.
  void SinkToUses(const Node& node) {
    if (!fusible_[node.id()] || node.uses(0).empty()) return;
    const auto is_constant = [](const Endpoint& from) { return PresentValue(from) != nullptr; };
    const auto& inputs = node.inputs();
    if (std::count_if(inputs.begin(), inputs.end(), is_constant) + 1 < node.num_inputs()) return;
    int first = depth_[node.uses(0)[0].node->id()];
    for (const Use& use : node.uses(0)) {
      if (!fusible_[use.node->id()] || use.node->device() != node.device()) return;
      first = std::min(first, depth_[use.node->id()]);
    }
    depth_[node.id()] = first;
  }

  void Join(const Node& a, const Node& b) {
    if (fusible_[a.id()] && fusible_[b.id()] && depth_[a.id()] == depth_[b.id()] &&
        a.device() == b.device()) {
      parent_[Root(a.id())] = Root(b.id());
    }
  }

  int Root(int id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  std::vector<int> depth_, parent_;
  std::vector<bool> fusible_;
  std::vector<int> group_of_;  // by node; -1: none
  std::vector<std::vector<Node*>> groups_;
};

// Writes the node for one group.
class Fusion {
 public:
  explicit Fusion(const std::vector<Node*>& group) : group_(group) {
    for (const Node* node : group) members_.insert(node);
  }

  absl::Status Apply(const OptimizationItem& item) {
    // Views come first among the values, so all inputs are found before the first step.
    for (const Node* node : group_) {
      for (const Endpoint& from : node->inputs()) {
        if (!members_.contains(from.node)) AddView(from);
      }
    }
    num_views_ = static_cast<int64_t>(values_.size());
    for (const Node* node : group_) AddSteps(*node);
    for (Node* node : group_) AddOutput(item, node);
    ASSIGN_OR_RETURN(
        Node * fused,
        item.graph->AddNode(item.graph->UniqueName(absl::StrCat(group_.back()->name(), "/fused")),
                            "_FusedElementwise",
                            {{"T", DType::kFloat},
                             {"num_inputs", static_cast<int64_t>(inputs_.size())},
                             {"num_outputs", static_cast<int64_t>(replaced_.size())},
                             {"ops", ops_},
                             {"names", names_},
                             {"operands", operands_},
                             {"views", views_},
                             {"results", results_},
                             {"joins", joins_}},
                            inputs_, group_.back()->device()));
    for (size_t i = 0; i < replaced_.size(); ++i) {
      RETURN_IF_ERROR(item.graph->ReplaceUses(replaced_[i], {fused, static_cast<int>(i)}));
    }
    return absl::OkStatus();
  }

 private:
  void AddView(const Endpoint& from) {
    if (values_.contains(from)) return;
    Endpoint source = from;
    int64_t axis = 0, part = 0, parts = 1;
    if (from.node->IsOp("Split") && from.node->control_inputs().empty()) {
      if (const auto constant = ConstantAxis(*from.node, 0)) {
        source = from.node->input(1);
        axis = *constant;
        part = from.index;
        parts = from.node->num_outputs();
      }
    }
    auto input = std::find(inputs_.begin(), inputs_.end(), source);
    if (input == inputs_.end()) input = inputs_.insert(input, source);
    views_.insert(views_.end(), {input - inputs_.begin(), axis, part, parts});
    values_.emplace(from, static_cast<int64_t>(values_.size()));
  }

  void AddSteps(const Node& node) {
    if (!node.IsOp("AddN")) {
      std::vector<int64_t> operands;
      for (const Endpoint& from : node.inputs()) operands.push_back(values_.at(from));
      values_[{const_cast<Node*>(&node), 0}] = AddStep(node, operands);
      return;
    }
    int64_t sum = values_.at(node.input(0));
    for (int i = 1; i < node.num_inputs(); ++i) {
      sum = AddStep(node, {sum, values_.at(node.input(i))});
    }
    values_[{const_cast<Node*>(&node), 0}] = sum;
  }

  // Returns the value of the step.
  int64_t AddStep(const Node& node, const std::vector<int64_t>& operands) {
    ops_.push_back(node.op_name());
    names_.push_back(node.name());
    operands_.insert(operands_.end(), operands.begin(), operands.end());
    return num_views_ + static_cast<int64_t>(ops_.size()) - 1;
  }

  bool IsUsedOutside(const Node& node) const {
    const std::vector<Use>& uses = node.uses(0);
    return std::any_of(uses.begin(), uses.end(),
                       [&](const Use& use) { return !members_.contains(use.node); });
  }

  void AddOutput(const OptimizationItem& item, Node* node) {
    if (!IsUsedOutside(*node) || joined_.contains(node)) return;
    Node* const concat = ConcatOf(item, *node);
    if (concat == nullptr) {
      AddResult({node, 0}, {values_.at({node, 0})}, 0);
      return;
    }
    std::vector<int64_t> values;
    for (int i = 0; i + 1 < concat->num_inputs(); ++i) {
      joined_.insert(concat->input(i).node);
      values.push_back(values_.at(concat->input(i)));
    }
    AddResult({concat, 0}, values, *ConstantAxis(*concat, concat->num_inputs() - 1));
  }

  void AddResult(const Endpoint& replaced, const std::vector<int64_t>& values, int64_t axis) {
    replaced_.push_back(replaced);
    results_.insert(results_.end(), values.begin(), values.end());
    joins_.insert(joins_.end(), {static_cast<int64_t>(values.size()), axis});
  }

  // The ConcatV2 that joins `node` with others of the group and nothing else, if it is the only
  // use outside of the group of each of them.
  Node* ConcatOf(const OptimizationItem& item, const Node& node) const {
    Node* concat = nullptr;
    for (const Use& use : node.uses(0)) {
      if (use.node->IsOp("ConcatV2")) concat = use.node;
    }
    if (concat == nullptr || concat->num_inputs() < 3 || item.IsPreserved(concat) ||
        concat->device() != node.device() || !concat->control_inputs().empty() ||
        !concat->control_outputs().empty() ||
        !ConstantAxis(*concat, concat->num_inputs() - 1).has_value()) {
      return nullptr;
    }
    for (int i = 0; i + 1 < concat->num_inputs(); ++i) {
      const Node* const from = concat->input(i).node;
      if (!members_.contains(from)) return nullptr;
      const auto is_outside = [&](const Use& use) { return !members_.contains(use.node); };
      const std::vector<Use>& uses = from->uses(0);
      if (std::count_if(uses.begin(), uses.end(), is_outside) != 1) return nullptr;
    }
    return concat;
  }

  const std::vector<Node*>& group_;
  absl::flat_hash_set<const Node*> members_;
  absl::flat_hash_set<const Node*> joined_;
  std::vector<Endpoint> inputs_;
  absl::flat_hash_map<Endpoint, int64_t> values_;
  int64_t num_views_ = 0;
  std::vector<Endpoint> replaced_;  // by output
  std::vector<std::string> ops_, names_;
  std::vector<int64_t> operands_, views_, results_, joins_;
};

}  // namespace

absl::Status FuseElementwisePass::Run(OptimizationItem& item, bool* changed) const {
  if (HasControlFlow(*item.graph)) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(*item.graph));
  absl::flat_hash_set<const Node*> left_out;
  std::optional<Groups> groups;
  do {
    groups.emplace(item, order, left_out);
  } while (groups->FindMisplaced(&left_out));
  for (const std::vector<Node*>& group : groups->groups()) {
    if (group.size() < kMinGroup || !item.HasKernel("_FusedElementwise", *group[0])) continue;
    RETURN_IF_ERROR(Fusion(group).Apply(item));
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera

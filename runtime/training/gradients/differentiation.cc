#include "runtime/training/gradients/differentiation.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/graph/function.h"
#include "runtime/graph/side_effects.h"
#include "runtime/training/gradients/gradient_registry.h"
#include "runtime/training/gradients/loop_gradient.h"

namespace tessera {

// One walk from the ys of a region to its xs. A loop inside of the region counts as one node, whose
// gradient is added once those of all its exits are known.
class Differentiation::Pass {
 public:
  Pass(Differentiation* differentiation, const DifferentiatedRegion& region)
      : d_(*differentiation),
        region_(region),
        stops_(region.stops.begin(), region.stops.end()),
        xs_(region.xs.begin(), region.xs.end()) {}

  absl::StatusOr<std::vector<Gradient>> Run() {
    FindBetween();
    CountPending();
    RankUnits();
    for (size_t i = 0; i < region_.ys.size(); ++i) Add(region_.ys[i], region_.grad_ys[i]);
    while (!ready_.empty()) {
      const int unit = *std::prev(ready_.end());
      ready_.erase(unit);
      RETURN_IF_ERROR(Process(unit));
    }
    std::vector<Gradient> gradients;
    for (const Endpoint& x : region_.xs) gradients.push_back(Sum(x));
    RETURN_IF_ERROR(d_.backward().status());
    return gradients;
  }

 private:
  // One of the gradients of an endpoint.
  struct Term {
    int rank;  // of the unit that it comes from
    Gradient gradient;
  };

  // The nodes on the way from xs to ys.
  void FindBetween() {
    absl::flat_hash_set<Node*> reached;
    std::vector<Endpoint> pending = region_.xs;
    while (!pending.empty()) {
      const Endpoint from = pending.back();
      pending.pop_back();
      for (const Use& use : from.node->uses(from.index)) {
        if (!d_.IsOriginal(use.node) || !reached.insert(use.node).second) continue;
        for (int i = 0; i < use.node->num_outputs(); ++i) {
          if (HasGradients(use.node->output_type(i))) pending.push_back({use.node, i});
        }
      }
    }
    std::vector<Node*> nodes;
    auto enter = [&](const Endpoint& to) {
      if (stops_.contains(to) || !reached.contains(to.node)) return;
      if (between_.insert(to.node).second) nodes.push_back(to.node);
    };
    for (const Endpoint& y : region_.ys) enter(y);
    while (!nodes.empty()) {
      const Node* node = nodes.back();
      nodes.pop_back();
      for (const Endpoint& input : node->inputs()) enter(input);
    }
  }

  // A unit is a node of the region itself, by its id, or a loop in the region, by -2 - its frame.
  int UnitOf(const Node* node) const {
    int frame = d_.frames().frame_of[node->id()];
    while (frame >= 0 && frame != region_.frame) {
      const int parent = d_.frames().frames[frame].parent;
      if (parent == region_.frame) return -2 - frame;
      frame = parent;
    }
    return node->id();
  }

  void CountPending() {
    for (Node* node : between_) {
      const int unit = UnitOf(node);
      members_[unit].push_back(node);
      pending_.try_emplace(unit, 0);
    }
    for (const auto& [unit, nodes] : members_) {
      for (const int from : SourcesOf(unit)) ++pending_[from];
    }
    for (const auto& [unit, count] : pending_) {
      if (count == 0) ready_.insert(unit);
    }
  }

  // TensorFlow adds the gradients of an endpoint in the order in which it visits the nodes that
  // they come from: those that become ready first. Rounding shows the order.
  void RankUnits() {
    absl::flat_hash_map<int, int> pending = pending_;
    std::deque<int> queue;
    for (const Endpoint& y : region_.ys) {
      const int unit = UnitOf(y.node);
      const auto found = pending.find(unit);
      const bool is_queued = std::find(queue.begin(), queue.end(), unit) != queue.end();
      if (found != pending.end() && found->second == 0 && !is_queued) queue.push_back(unit);
    }
    while (!queue.empty()) {
      const int unit = queue.front();
      queue.pop_front();
      ranks_.emplace(unit, static_cast<int>(ranks_.size()));
      for (const int from : SourcesOf(unit)) {
        if (--pending[from] == 0) queue.push_back(from);
      }
    }
  }

  // Returns the units of the sources of all edges that come into a unit.
  std::vector<int> SourcesOf(int unit) {
    std::vector<int> sources;
    for (const Node* node : members_[unit]) {
      for (const Endpoint& input : node->inputs()) {
        if (!between_.contains(input.node)) continue;
        const int from = UnitOf(input.node);
        if (from != unit) sources.push_back(from);
      }
    }
    return sources;
  }

  absl::Status Process(int unit) {
    rank_ = ranks_[unit];
    // Nodes of the unit may be replaced while their gradients are added.
    const std::vector<int> sources = SourcesOf(unit);
    if (unit <= -2) {
      AddLoopGradient(d_, -2 - unit,
                      {.between = &between_,
                       .gradient_of = [this](const Endpoint& exit) { return Sum(exit); },
                       .add = [this](const Endpoint& enter,
                                     const Gradient& gradient) { Add(enter, gradient); }});
      RETURN_IF_ERROR(d_.backward().status());
    } else {
      RETURN_IF_ERROR(ProcessNode(d_.graph_->node(unit)));
    }
    for (const int from : sources) {
      if (--pending_[from] == 0) ready_.insert(from);
    }
    return absl::OkStatus();
  }

  absl::Status ProcessNode(Node* node) {
    std::vector<Gradient> gradients;
    bool has_gradient = false;
    for (int i = 0; i < node->num_outputs(); ++i) {
      const Endpoint output = {node, i};
      const bool flows = !stops_.contains(output) && HasGradients(node->output_type(i));
      gradients.push_back(flows ? Sum(output) : Gradient());
      has_gradient |= !gradients.back().is_none();
    }
    if (!has_gradient) return absl::OkStatus();
    GradientFunction function = nullptr;
    ASSIGN_OR_RETURN(const bool flows, FindFormula(*node, &function));
    if (!flows) return absl::OkStatus();
    const std::vector<Endpoint> inputs = node->inputs();
    const std::string place =
        absl::StrCat("gradient of node '", node->name(), "' (", node->op_name(), "): ");
    std::vector<bool> wanted;
    for (const Endpoint& input : inputs) {
      wanted.push_back(IsWanted(input) && HasGradients(input.node->output_type(input.index)));
    }
    d_.backward().set_device(node->device());
    GradientOp op(&d_, &d_.backward(), node, std::move(gradients), wanted);
    function(op);
    const std::vector<Gradient> results = op.TakeResults();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (wanted[i]) Add(inputs[i], results[i]);
    }
    return Annotate(d_.backward().status(), place);
  }

  // Returns false if no gradient flows through the node.
  absl::StatusOr<bool> FindFormula(const Node& node, GradientFunction* function) {
    // TensorFlow names by this attribute another gradient than that of the op.
    const auto type = node.attr<std::string>("_gradient_op_type");
    if (type.ok() && FindGradient(*type, function)) return *function != nullptr;
    if (type.ok() && absl::StartsWith(*type, "CustomGradient-")) {
      LOG(WARNING) << "node '" << node.name()
                   << "' has a gradient of its own, which was Python code and is not part of the "
                      "graph; the gradient of what the node computes takes its place";
    }
    if (FindGradient(node.op_name(), function)) return *function != nullptr;
    const FunctionLibrary* library = d_.graph_->library().get();
    if (library != nullptr && library->Contains(node.op_name())) {
      return FindGradient("PartitionedCall", function);
    }
    return absl::UnimplementedError(
        absl::StrCat("node '", node.name(),
                     "' is on the way from the loss to a variable, but its "
                     "op ",
                     node.op_name(), " has no gradient; stop_gradients can stop there"));
  }

  bool IsWanted(const Endpoint& input) const {
    return xs_.contains(input) || (between_.contains(input.node) && !stops_.contains(input));
  }

  void Add(const Endpoint& endpoint, const Gradient& gradient) {
    if (!gradient.is_none()) gradients_[endpoint].push_back({rank_, gradient});
  }

  // Returns the sum of the gradients that came in for an endpoint. More than one slices stay
  // slices.
  Gradient Sum(const Endpoint& endpoint) {
    const auto found = gradients_.find(endpoint);
    if (found == gradients_.end()) return {};
    std::vector<Term>& terms = found->second;
    if (terms.size() == 1) return terms[0].gradient;
    std::stable_sort(terms.begin(), terms.end(),
                     [](const Term& a, const Term& b) { return a.rank < b.rank; });
    std::vector<Gradient> gradients;
    for (const Term& term : terms) gradients.push_back(term.gradient);
    GraphBuilder& build = d_.backward();
    const bool all_sparse = std::all_of(gradients.begin(), gradients.end(),
                                        [](const Gradient& term) { return term.is_sparse(); });
    terms = {{0, all_sparse ? Concatenated(build, gradients) : Added(build, gradients)}};
    return terms[0].gradient;
  }

  static Gradient Added(GraphBuilder& build, const std::vector<Gradient>& terms) {
    std::vector<Expr> values;
    for (const Gradient& term : terms) values.push_back(DenseGradient(build, term));
    return {.values = Call("AddN", values).endpoint()};
  }

  static Gradient Concatenated(GraphBuilder& build, const std::vector<Gradient>& terms) {
    std::vector<Expr> values, indices;
    DType index_type = DType::kInt32;
    for (const Gradient& term : terms) {
      values.push_back(build.Of(term.values));
      indices.push_back(build.Of(term.indices));
      if (indices.back().dtype() == DType::kInt64) index_type = DType::kInt64;
    }
    for (Expr& index : indices) index = CastTo(index, index_type);
    return {Concat(values, 0).endpoint(), Concat(indices, 0).endpoint(), terms[0].dense_shape};
  }

  Differentiation& d_;
  const DifferentiatedRegion& region_;
  const absl::flat_hash_set<Endpoint> stops_;
  const absl::flat_hash_set<Endpoint> xs_;
  absl::flat_hash_set<Node*> between_;
  absl::flat_hash_map<int, std::vector<Node*>> members_;  // by unit
  absl::flat_hash_map<int, int> pending_;  // by unit: the edges to units that are not processed yet
  std::set<int> ready_;                    // the last is processed first
  absl::flat_hash_map<int, int> ranks_;    // by unit: TensorFlow's order
  int rank_ = -1;                          // of the unit that is processed
  absl::flat_hash_map<Endpoint, std::vector<Term>> gradients_;
};

absl::StatusOr<std::unique_ptr<Differentiation>> Differentiation::Create(
    Graph* graph, std::string name, std::function<bool(const Node&)> recompute) {
  ASSIGN_OR_RETURN(LoopFrames frames, FindLoopFrames(*graph));
  return std::unique_ptr<Differentiation>(
      new Differentiation(graph, std::move(name), std::move(recompute), std::move(frames)));
}

Differentiation::Differentiation(Graph* graph, std::string name,
                                 std::function<bool(const Node&)> recompute, LoopFrames frames)
    : graph_(graph),
      name_(std::move(name)),
      recompute_(std::move(recompute)),
      frames_(std::move(frames)),
      conditions_(*graph),
      shapes_(*graph),
      original_bound_(graph->id_bound()),
      backward_builder_(graph, name_, &backward_),
      forward_builder_(graph, name_) {}

absl::StatusOr<std::vector<Gradient>> Differentiation::Run(const DifferentiatedRegion& region) {
  return Pass(this, region).Run();
}

absl::StatusOr<Node*> Differentiation::Replace(Node* node, absl::string_view op, AttrMap attrs,
                                               const std::vector<Expr>& inputs) {
  const std::string name = node->name(), device = node->device();
  std::vector<Endpoint> all_inputs = node->inputs();
  for (const Expr& input : inputs) all_inputs.push_back(input.endpoint());
  const std::vector<Node*> controls = node->control_inputs(), waiting = node->control_outputs();
  std::vector<std::vector<Use>> uses;
  for (int i = 0; i < node->num_outputs(); ++i) uses.push_back(node->uses(i));
  graph_->Remove(node);
  ASSIGN_OR_RETURN(Node * replacement,
                   graph_->AddNode(name, op, std::move(attrs), all_inputs, device));
  for (size_t i = 0; i < uses.size(); ++i) {
    for (const Use& use : uses[i]) {
      RETURN_IF_ERROR(graph_->Connect({replacement, static_cast<int>(i)}, use.node, use.index));
    }
  }
  for (Node* control : controls) graph_->AddControlEdge(control, replacement);
  for (Node* control : waiting) graph_->AddControlEdge(replacement, control);
  return replacement;
}

std::vector<Use> Differentiation::Crossings(int first_id) const {
  std::vector<Use> crossings;
  for (int id = first_id; id < graph_->id_bound(); ++id) {
    Node* node = graph_->node(id);
    if (node == nullptr || !IsBackward(node)) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (!IsBackward(node->input(i).node)) crossings.push_back({node, i});
    }
  }
  return crossings;
}

absl::Status Differentiation::SettleForwardValues(int first_id) {
  HoistShapes(first_id);
  return Recompute(first_id);
}

void Differentiation::HoistShapes(int first_id) {
  static const auto* const ops =
      new absl::flat_hash_set<absl::string_view>{"Shape",
                                                 "ShapeN",
                                                 "Size",
                                                 "Rank",
                                                 "BroadcastGradientArgs",
                                                 "VariableShape",
                                                 "TensorListLength",
                                                 "TensorListElementShape"};
  for (int id = first_id; id < graph_->id_bound(); ++id) {
    const Node* node = graph_->node(id);
    if (node == nullptr || !IsBackward(node) || !ops->contains(node->op_name())) continue;
    const bool is_forward =
        std::none_of(node->inputs().begin(), node->inputs().end(),
                     [&](const Endpoint& input) { return IsBackward(input.node); });
    if (is_forward) backward_.erase(node);
  }
}

bool Differentiation::IsRecomputed(const Node& node) const {
  return recompute_ && IsOriginal(&node) && IsPure(node) && !node.IsOp("Const") && recompute_(node);
}

absl::Status Differentiation::Recompute(int first_id) {
  if (!recompute_) return absl::OkStatus();
  absl::flat_hash_map<Node*, Node*> copies;
  for (const Use& use : Crossings(first_id)) {
    const Endpoint from = use.node->input(use.index);
    if (!IsRecomputed(*from.node)) continue;
    // Without an edge from the backward pass the copy would run in the forward pass, or be merged
    // with the node that it copies.
    Node* after = nullptr;
    for (const Endpoint& input : use.node->inputs()) {
      if (IsBackward(input.node) && input.node->num_inputs() > 0) after = input.node;
    }
    if (after == nullptr) continue;
    ASSIGN_OR_RETURN(Node * copy, Copy(from.node, after, &copies));
    RETURN_IF_ERROR(graph_->Connect({copy, from.index}, use.node, use.index));
  }
  return absl::OkStatus();
}

absl::StatusOr<Node*> Differentiation::Copy(Node* node, Node* after,
                                            absl::flat_hash_map<Node*, Node*>* copies) {
  // Depth first, without recursion: chains of chosen nodes may be as long as the graph.
  std::vector<Node*> stack = {node};
  while (!stack.empty()) {
    Node* const top = stack.back();
    if (copies->contains(top)) {
      stack.pop_back();
      continue;
    }
    const size_t depth = stack.size();
    std::vector<Endpoint> inputs = top->inputs();
    for (Endpoint& input : inputs) {
      const auto copied = copies->find(input.node);
      if (copied != copies->end()) {
        input.node = copied->second;
      } else if (IsRecomputed(*input.node)) {
        stack.push_back(input.node);
      }
    }
    if (stack.size() > depth) continue;
    ASSIGN_OR_RETURN(Node * copy,
                     graph_->AddNode(graph_->UniqueName(absl::StrCat(name_, "/", top->name())),
                                     top->op_name(), top->attrs(), inputs, top->device()));
    graph_->AddControlEdge(after, copy);
    backward_.insert(copy);
    (*copies)[top] = copy;
    stack.pop_back();
  }
  return copies->at(node);
}

}  // namespace tessera

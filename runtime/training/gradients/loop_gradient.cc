#include "runtime/training/gradients/loop_gradient.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/control_flow_nodes.h"
#include "runtime/training/gradients/handle_dtype.h"

namespace tessera {
namespace {

bool IsConstantEnter(const Node& node) {
  if (!IsEnter(node)) return false;
  const absl::StatusOr<bool> is_constant = node.attr<bool>("is_constant");
  return is_constant.ok() && *is_constant;
}

// A variable of the forward loop: Enter -> Merge -> Switch, whose outputs go to Exit and the body.
struct LoopVariable {
  Node* enter = nullptr;
  Node* merge = nullptr;
  Node* switch_node = nullptr;
  Node* next = nullptr;  // NextIteration
  Node* exit = nullptr;  // null if nobody wants the final value
};

// A loop that is being built. All its nodes are added by `build`.
class LoopBuilder {
 public:
  LoopBuilder(GraphBuilder* build, std::string frame, int64_t parallel_iterations)
      : build_(*build), frame_(std::move(frame)), parallel_iterations_(parallel_iterations) {}

  Expr Enter(const Expr& value, bool is_constant) {
    return Call("Enter", {value},
                {{"frame_name", frame_},
                 {"is_constant", is_constant},
                 {"parallel_iterations", parallel_iterations_}});
  }
  // Returns the Merge of a new loop variable; Close() connects what the next iteration gives.
  Expr Merge(const Expr& initial) {
    const Expr entered = Enter(initial, /*is_constant=*/false);
    Node* merge = build_.AddOpenNode("Merge", {{"T", entered.dtype()}, {"N", 2}});
    if (merge == nullptr) return Expr();
    build_.Connect(entered, merge, 0);
    return build_.Output(merge);
  }
  // Returns a tensor as it is in the body, and sets *exit to the value after the last iteration.
  Expr Body(const Expr& merge, const Expr& condition, Expr* exit) {
    const std::vector<Expr> branches = CallAll("Switch", {{merge, condition}});
    if (branches.empty()) return Expr();
    *exit = Call("Exit", {branches[0]});
    return Call("Identity", {branches[1]});
  }
  void Close(const Expr& merge, const Expr& next) {
    const Expr next_iteration = Call("NextIteration", {next});
    if (!next_iteration.empty()) build_.Connect(next_iteration, merge.endpoint().node, 1);
  }

 private:
  GraphBuilder& build_;
  const std::string frame_;
  const int64_t parallel_iterations_;
};

class LoopGradient {
 public:
  LoopGradient(Differentiation* differentiation, int frame, const LoopBoundary& boundary)
      : d_(*differentiation),
        graph_(*d_.graph()),
        frame_index_(frame),
        frame_(d_.frames().frames[frame]),
        boundary_(boundary),
        forward_loop_(&d_.forward(), frame_.name, frame_.parallel_iterations),
        backward_loop_(&d_.backward(), graph_.UniqueName(absl::StrCat(d_.name(), "/", frame_.name)),
                       frame_.parallel_iterations) {}

  void Add() {
    if (frame_.condition == nullptr) {
      d_.backward().Fail(
          absl::InvalidArgumentError(absl::StrCat("loop '", frame_.name, "' has no LoopCond")));
      return;
    }
    if (const absl::Status found = FindVariables(); !found.ok()) return d_.backward().Fail(found);
    AddForwardCounter();
    AddBackwardCounter();
    for (const LoopVariable& variable : variables_) AddGradientVariable(variable);
    for (Node* enter : constants_) AddSumVariable(enter);
    if (!ok()) return;
    const int body_begin = graph_.id_bound();
    DifferentiateBody();
    if (!ok()) return;
    if (const absl::Status settled = d_.SettleForwardValues(body_begin); !settled.ok()) {
      return d_.backward().Fail(settled);
    }
    const int body_end = graph_.id_bound();
    for (const Use& use : d_.Crossings(body_begin)) {
      if (use.node->id() >= body_end) break;
      const Expr kept = Kept(use.node->input(use.index));
      if (!ok()) return;
      d_.backward().Connect(kept, use.node, use.index);
    }
    KeepInFrames(body_begin, body_end);
    Close();
    if (!d_.forward().status().ok()) d_.backward().Fail(d_.forward().status());
  }

 private:
  bool ok() { return d_.backward().status().ok() && d_.forward().status().ok(); }

  // Finds the variables and constants of the loop that gradients flow through.
  absl::Status FindVariables() {
    for (Node* enter : frame_.enters) {
      if (!HasGradients(enter->output_type(0))) continue;
      if (IsConstantEnter(*enter)) {
        if (boundary_.between->contains(enter)) constants_.push_back(enter);
        continue;
      }
      // A variable may depend on an x in the body alone, while its Enter depends on none.
      LoopVariable variable = {.enter = enter};
      for (const Use& use : enter->uses(0)) {
        if (IsMerge(*use.node)) variable.merge = use.node;
      }
      if (variable.merge == nullptr) return Malformed(*enter);
      if (!boundary_.between->contains(variable.merge)) continue;
      for (const Endpoint& input : variable.merge->inputs()) {
        if (input.node != enter) variable.next = input.node;
      }
      for (const Use& use : variable.merge->uses(0)) {
        if (IsSwitch(*use.node) && use.node->input(1).node == frame_.condition) {
          variable.switch_node = use.node;
        }
      }
      if (variable.switch_node == nullptr || variable.next == nullptr) return Malformed(*enter);
      for (const Use& use : variable.switch_node->uses(0)) {
        if (IsExit(*use.node)) variable.exit = use.node;
      }
      variables_.push_back(variable);
    }
    return absl::OkStatus();
  }

  absl::Status Malformed(const Node& enter) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", enter.name(), "' does not start a variable of loop '", frame_.name,
        "': there must be a Merge with a NextIteration, and a Switch on the loop's condition"));
  }

  // Counts the iterations of the forward loop.
  void AddForwardCounter() {
    GraphBuilder& build = d_.forward();
    const Expr one = forward_loop_.Enter(build.Int(1), /*is_constant=*/true);
    forward_count_ = forward_loop_.Merge(build.Int(0));
    const Expr index =
        forward_loop_.Body(forward_count_, build.Of({frame_.condition, 0}), &iterations_);
    forward_pivot_ = index.endpoint().node;
    forward_next_count_ = index + one;
    forward_loop_.Close(forward_count_, forward_next_count_);
    // The next iteration starts when all values of this one are on their stacks, so that stacks
    // have the order of the iterations. A trigger also runs where a branch pushed nothing.
    pushed_ = build.AddNode("ControlTrigger", {});
    if (!ok()) return;
    graph_.AddControlEdge(forward_pivot_, pushed_);
    graph_.AddControlEdge(pushed_, forward_next_count_.endpoint().node);
  }

  // Counts down to 0.
  void AddBackwardCounter() {
    GraphBuilder& build = d_.backward();
    backward_one_ = backward_loop_.Enter(build.Int(1), /*is_constant=*/true);
    backward_count_ = backward_loop_.Merge(build.Of(iterations_.endpoint()));
    backward_condition_ =
        Call("LoopCond", {Call("GreaterEqual", {backward_count_, backward_one_})});
    Expr exit;
    backward_index_ = backward_loop_.Body(backward_count_, backward_condition_, &exit);
    backward_pivot_ = backward_index_.endpoint().node;
    popped_ = build.AddNode("ControlTrigger", {});
    const Expr next = backward_index_ - backward_one_;
    backward_loop_.Close(backward_count_, next);
    if (!ok()) return;
    graph_.AddControlEdge(backward_pivot_, popped_);
    graph_.AddControlEdge(popped_, next.endpoint().node);
  }

  struct BackwardVariable {
    Expr merge;
    Expr body;  // the gradient that comes into the body
    Expr exit;
  };

  BackwardVariable AddVariable(const Expr& initial) {
    BackwardVariable variable;
    variable.merge = backward_loop_.Merge(initial);
    variable.body = backward_loop_.Body(variable.merge, backward_condition_, &variable.exit);
    return variable;
  }

  void AddGradientVariable(const LoopVariable& variable) {
    GraphBuilder& build = d_.backward();
    Gradient incoming;
    if (variable.exit != nullptr) incoming = boundary_.gradient_of({variable.exit, 0});
    Expr initial;
    if (!incoming.is_none()) {
      initial = DenseGradient(build, incoming);
    } else {
      // The final value has the shape of its gradient.
      Expr last;
      if (variable.exit == nullptr) {
        last = Call("Exit", {d_.forward().Of({variable.switch_node, 0})});
      } else {
        last = build.Of({variable.exit, 0});
      }
      initial = ZerosLike(build.Of(last.endpoint()));
    }
    gradients_.push_back(AddVariable(initial));
  }

  void AddSumVariable(Node* enter) {
    const Expr constant = d_.backward().Of(enter->input(0));
    if (constant.dtype() != DType::kResource) {
      sums_.push_back(AddVariable(ZerosLike(constant)));
      return;
    }
    const absl::StatusOr<DType> dtype = DTypeOfHandle(graph_, {enter, 0});
    if (!dtype.ok()) {
      d_.backward().Fail(
          Annotate(dtype.status(), absl::StrCat("the gradient of loop '", frame_.name, "': ")));
      return;
    }
    sums_.push_back(AddVariable(
        Call("Fill", {Call("VariableShape", {constant}), d_.backward().Scalar(*dtype, 0)})));
  }

  void DifferentiateBody() {
    DifferentiatedRegion region = {.frame = frame_index_};
    for (size_t i = 0; i < variables_.size(); ++i) {
      region.ys.push_back(variables_[i].next->input(0));
      region.grad_ys.push_back({.values = gradients_[i].body.endpoint()});
      region.xs.push_back({variables_[i].switch_node, 1});
    }
    for (Node* enter : constants_) region.xs.push_back({enter, 0});
    region.stops = region.xs;
    auto gradients = d_.Run(region);
    if (!gradients.ok()) return d_.backward().Fail(gradients.status());
    body_gradients_ = *std::move(gradients);
    for (size_t i = 0; i < variables_.size(); ++i) {
      const Gradient& gradient = body_gradients_[i];
      next_.push_back(gradient.is_none() ? ZerosLike(gradients_[i].body)
                                         : DenseGradient(d_.backward(), gradient));
    }
    for (size_t i = 0; i < constants_.size(); ++i) {
      const Gradient& gradient = body_gradients_[variables_.size() + i];
      next_.push_back(gradient.is_none()
                          ? sums_[i].body
                          : Call("AddN", {sums_[i].body, DenseGradient(d_.backward(), gradient)}));
    }
  }

  // Returns the value that `forward` had in the iteration that the backward loop is in.
  Expr Kept(const Endpoint& forward) {
    const auto found = kept_.find(forward);
    if (found != kept_.end()) return found->second;
    Expr kept;
    if (IsConstantEnter(*forward.node)) {
      kept = backward_loop_.Enter(d_.backward().Of(forward.node->input(0)), /*is_constant=*/true);
    } else if (forward.node->IsOp("Const")) {
      const auto copy = graph_.AddNode(graph_.UniqueName(absl::StrCat(d_.name(), "/Const")),
                                       "Const", forward.node->attrs(), forward.node->device());
      if (copy.ok()) graph_.AddControlEdge(backward_pivot_, *copy);
      if (copy.ok()) d_.AddToBackward(*copy);
      kept = copy.ok() ? d_.backward().Output(*copy) : Expr();
    } else {
      kept = Popped(forward);
    }
    kept_[forward] = kept;
    return kept;
  }

  // Returns the branches of conditions of this loop that a value is in. Nodes that were added later
  // are in the branches of their inputs.
  std::vector<ConditionBranch> BranchesOf(const Endpoint& forward) const {
    std::vector<ConditionBranch> branches;
    absl::flat_hash_set<const Node*> seen;
    std::vector<Endpoint> pending = {forward};
    while (!pending.empty()) {
      const Endpoint value = pending.back();
      pending.pop_back();
      if (!d_.IsOriginal(value.node)) {
        if (!seen.insert(value.node).second) continue;
        pending.insert(pending.end(), value.node->inputs().begin(), value.node->inputs().end());
        continue;
      }
      for (const ConditionBranch& branch : d_.conditions().Of(value)) {
        const int frame = d_.frames().frame_after[branch.predicate.node->id()];
        if (frame == frame_index_ &&
            std::find(branches.begin(), branches.end(), branch) == branches.end()) {
          branches.push_back(branch);
        }
      }
    }
    return branches;
  }

  // Pushes a value in the forward loop, and pops it in the backward one.
  Expr Popped(const Endpoint& forward) {
    GraphBuilder& build = d_.forward();
    const Expr value = build.Of(forward);
    const Expr stack =
        build.Output(build.AddNode("StackV2", {{build.Int(-1)}}, {{"elem_type", value.dtype()}}));
    const Expr push =
        Call("StackPushV2", {forward_loop_.Enter(stack, /*is_constant=*/true), value});
    if (!ok()) return Expr();
    // Other variables may be iterations ahead of the counter.
    graph_.AddControlEdge(forward_pivot_, push.endpoint().node);
    graph_.AddControlEdge(push.endpoint().node, pushed_);

    Expr handle = backward_loop_.Enter(d_.backward().Of(stack.endpoint()), /*is_constant=*/true);
    // A branch that was not taken has pushed nothing.
    for (const ConditionBranch& branch : BranchesOf(forward)) {
      handle = Call("Switch", {handle, Kept(branch.predicate)}, {}, branch.taken ? 1 : 0);
    }
    const Expr pop = Call("StackPopV2", {handle}, {{"elem_type", value.dtype()}});
    if (!ok()) return Expr();
    graph_.AddControlEdge(backward_pivot_, pop.endpoint().node);
    graph_.AddControlEdge(pop.endpoint().node, popped_);
    return pop;
  }

  // Nodes without inputs run in a loop only if something in the loop triggers them.
  void KeepInFrames(int begin, int end) {
    for (int id = begin; id < end; ++id) {
      Node* node = graph_.node(id);
      if (node == nullptr || node->num_inputs() > 0 || !node->control_inputs().empty()) continue;
      graph_.AddControlEdge(d_.IsBackward(node) ? backward_pivot_ : forward_pivot_, node);
    }
  }

  void Close() {
    for (size_t i = 0; i < gradients_.size(); ++i) {
      backward_loop_.Close(gradients_[i].merge, next_[i]);
      if (!body_gradients_[i].is_none()) {
        boundary_.add({variables_[i].enter, 0}, {.values = gradients_[i].exit.endpoint()});
      }
    }
    for (size_t i = 0; i < sums_.size(); ++i) {
      backward_loop_.Close(sums_[i].merge, next_[gradients_.size() + i]);
      if (!body_gradients_[gradients_.size() + i].is_none()) {
        boundary_.add({constants_[i], 0}, {.values = sums_[i].exit.endpoint()});
      }
    }
  }

  Differentiation& d_;
  Graph& graph_;
  const int frame_index_;
  const LoopFrame& frame_;
  const LoopBoundary& boundary_;
  LoopBuilder forward_loop_, backward_loop_;

  std::vector<LoopVariable> variables_;
  std::vector<Node*> constants_;  // the Enter nodes of values that do not change
  Expr forward_count_, forward_next_count_, iterations_;
  Expr backward_one_, backward_count_, backward_condition_, backward_index_;
  Node* forward_pivot_ = nullptr;  // runs once in each iteration
  Node* backward_pivot_ = nullptr;
  Node* pushed_ = nullptr;  // waits for all pushes of an iteration
  Node* popped_ = nullptr;
  std::vector<BackwardVariable> gradients_;  // of variables_
  std::vector<BackwardVariable> sums_;       // of constants_
  std::vector<Gradient> body_gradients_;     // of one iteration: variables_, then constants_
  std::vector<Expr> next_;                   // for the next iteration, in the same order
  absl::flat_hash_map<Endpoint, Expr> kept_;
};

}  // namespace

void AddLoopGradient(Differentiation& differentiation, int frame, const LoopBoundary& boundary) {
  LoopGradient(&differentiation, frame, boundary).Add();
}

}  // namespace tessera

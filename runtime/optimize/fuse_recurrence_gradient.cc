#include "runtime/optimize/fuse_recurrence_gradient.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/linear_op.h"
#include "runtime/optimize/recurrent_cell.h"
#include "runtime/optimize/sequence_loop.h"

namespace tessera {
namespace {

// The loop of the gradient: its variables, by what they become.
struct GradientLoop {
  Node* node = nullptr;
  int d_h = -1, d_c = -1, d_sequence = -1, d_recurrent = -1;
};

// Recognises the gradient of a loop.
class GradientMatcher {
 public:
  GradientMatcher(const SequenceLoop& forward, const LstmCellPattern& cell, Node* node,
                  const LoopBody& body)
      : forward_(forward), cell_(cell), node_(*node), body_(body), loop_{.node = node} {}

  std::optional<GradientLoop> Match() {
    if (!CountsAlike() || !FindVariables() || !MatchesCell()) return std::nullopt;
    return loop_;
  }

 private:
  Endpoint ResultOf(int variable) const {
    return SkipIdentities(body_.function.results[variable]->input(0));
  }
  Endpoint ArgOf(int variable) const { return {body_.function.args[variable], 0}; }

  // What a value of the graph is, if it comes through the forward loop unchanged.
  Endpoint Source(const Endpoint& value) const {
    const Endpoint from = SkipIdentities(value);
    if (from.node != forward_.node || !forward_.body.is_invariant[from.index]) return from;
    return SkipIdentities(forward_.node->input(from.index));
  }

  // True if the loop runs as often as the forward loop did.
  bool CountsAlike() const {
    const Endpoint condition = SkipIdentities(body_.condition.results[0]->input(0));
    if (!condition.node->IsOp("Less")) return false;
    const int counter = ArgumentOf(condition.node->input(0));
    const int limit = ArgumentOf(condition.node->input(1));
    if (counter < 0 || limit < 0 || !body_.is_counter[counter] || !body_.is_invariant[limit]) {
      return false;
    }
    const Endpoint count = SkipIdentities(node_.input(limit));
    return count.node == forward_.node && forward_.body.is_counter[count.index];
  }

  // The value of the forward loop's body that `value`, in this loop's, was in the step that both
  // are at; none if it is something else.
  Endpoint Saved(const Endpoint& value) const {
    const Endpoint from = SkipIdentities(value);
    if (!from.node->IsOp("TensorListPopBack") || from.index != 1) return {};
    const int list = ArgumentOf(from.node->input(0));
    if (list < 0 || !(ResultOf(list) == Endpoint{from.node, 0})) return {};
    const Endpoint made = SkipIdentities(node_.input(list));
    if (made.node != forward_.node) return {};
    for (const SequenceLoop::Accumulator& accumulator : forward_.accumulators) {
      if (accumulator.variable == made.index) return accumulator.value;
    }
    return {};
  }
  bool IsSaved(const Endpoint& value, const Endpoint& forward) const {
    const Endpoint saved = Saved(value);
    return saved.node != nullptr && saved == forward;
  }
  bool IsSavedState(const Endpoint& value, int variable) const {
    return IsSaved(value, {forward_.body.function.args[variable], 0});
  }

  // True if each loop variable is invariant, a counter, a list of saved values, or one of the four.
  bool FindVariables() {
    for (size_t i = 0; i < body_.function.args.size(); ++i) {
      const int variable = static_cast<int>(i);
      if (body_.is_invariant[i] || body_.is_counter[i]) {
        if (!node_.uses(variable).empty() && body_.is_counter[i]) return false;
        continue;
      }
      const Endpoint result = ResultOf(variable);
      if (result.node->IsOp("TensorListPopBack") && result.index == 0) {
        if (!node_.uses(variable).empty()) return false;
        continue;
      }
      int* const found = VariableOf(variable, result);
      if (found == nullptr || *found >= 0) return false;
      *found = variable;
    }
    return loop_.d_h >= 0 && loop_.d_c >= 0 && loop_.d_sequence >= 0 && loop_.d_recurrent >= 0;
  }

  // Which of the four a variable with this result is; null: none.
  int* VariableOf(int variable, const Endpoint& result) {
    if (result.node->IsOp("MatMul")) return &loop_.d_h;
    if (result.node->IsOp("Mul")) return &loop_.d_c;
    const auto terms = TermsOf(result);
    if (!terms.has_value()) return nullptr;
    for (const int side : {0, 1}) {
      if (ArgumentOf((*terms)[side]) != variable) continue;
      const Node* other = (*terms)[1 - side].node;
      if (other->IsOp("MatMul")) return &loop_.d_recurrent;
      if (other->IsOp("TensorListSetItem")) return &loop_.d_sequence;
    }
    return nullptr;
  }

  // The operands of an addition of two values.
  static std::optional<std::vector<Endpoint>> TermsOf(const Endpoint& value) {
    const Node& node = *SkipIdentities(value).node;
    if ((!node.IsOp("AddN") && !node.IsOp("AddV2") && !node.IsOp("Add")) ||
        node.num_inputs() != 2) {
      return std::nullopt;
    }
    return std::vector<Endpoint>{SkipIdentities(node.input(0)), SkipIdentities(node.input(1))};
  }
  static std::optional<Endpoint> OtherTerm(const Endpoint& value, const Endpoint& term) {
    const auto terms = TermsOf(value);
    if (!terms.has_value()) return std::nullopt;
    if ((*terms)[0] == term) return (*terms)[1];
    if ((*terms)[1] == term) return (*terms)[0];
    return std::nullopt;
  }

  // True if `value` is the product of `factor` and a saved value.
  bool IsProduct(const Endpoint& value, const Endpoint& factor, const Endpoint& saved) const {
    const Node& node = *SkipIdentities(value).node;
    if (!node.IsOp("Mul")) return false;
    for (const int side : {0, 1}) {
      if (SkipIdentities(node.input(side)) == factor && IsSaved(node.input(1 - side), saved)) {
        return true;
      }
    }
    return false;
  }
  // True if `value` is the gradient of the activation `op` with this saved result, applied to
  // factor * other.
  bool IsActivationGradient(const Endpoint& value, absl::string_view op, const Endpoint& result,
                            const Endpoint& factor, const Endpoint& other) const {
    const Node& node = *SkipIdentities(value).node;
    return node.IsOp(op) && IsSaved(node.input(0), result) &&
           IsProduct(node.input(1), factor, other);
  }

  static bool Transposes(const Node& product, bool a, bool b) {
    const auto transpose_a = product.attr<bool>("transpose_a");
    const auto transpose_b = product.attr<bool>("transpose_b");
    return transpose_a.ok() && transpose_b.ok() && *transpose_a == a && *transpose_b == b;
  }

  bool MatchesCell() const {
    const Endpoint d_h = ArgOf(loop_.d_h), d_c = ArgOf(loop_.d_c);
    const Endpoint input = SkipIdentities(cell_.activated[0]),
                   forget = SkipIdentities(cell_.activated[1]),
                   candidate = SkipIdentities(cell_.activated[2]),
                   output = SkipIdentities(cell_.activated[3]);

    // The gradients of the gates, in the order of their columns.
    const Node& to_h = *ResultOf(loop_.d_h).node;
    const Endpoint d_sums = SkipIdentities(to_h.input(0));
    const Node& joined = *d_sums.node;
    if (!joined.IsOp("ConcatV2") || joined.num_inputs() != 5) return false;
    const Tensor* axis = ConstantValue(SkipIdentities(joined.input(4)));
    if (axis == nullptr || axis->dtype() != DType::kInt32 || axis->num_elements() != 1 ||
        (axis->flat<int32_t>()[0] != 1 && axis->flat<int32_t>()[0] != -1)) {
      return false;
    }
    const auto column = [&](int gate) { return joined.input(static_cast<int>(cell_.gates[gate])); };

    // The gradient of the cell state, also through the output.
    const Node& to_c = *ResultOf(loop_.d_c).node;
    std::optional<Endpoint> d_state;
    for (const int side : {0, 1}) {
      if (IsSaved(to_c.input(side), forget)) d_state = SkipIdentities(to_c.input(1 - side));
    }
    if (!d_state.has_value()) return false;
    const auto through_output = OtherTerm(*d_state, d_c);
    if (!through_output.has_value() ||
        !IsActivationGradient(*through_output, "TanhGrad", cell_.tanh_c, d_h, output)) {
      return false;
    }
    const Endpoint c_prev{forward_.body.function.args[cell_.c], 0};
    if (!IsActivationGradient(column(0), "SigmoidGrad", input, *d_state, candidate) ||
        !IsActivationGradient(column(1), "SigmoidGrad", forget, *d_state, c_prev) ||
        !IsActivationGradient(column(2), "TanhGrad", candidate, *d_state, input) ||
        !IsActivationGradient(column(3), "SigmoidGrad", output, d_h, cell_.tanh_c)) {
      return false;
    }
    return MatchesProducts(to_h, d_sums) && MatchesSequence(d_sums);
  }

  // True if `value` is the recurrent weights: an invariant of both loops, or a saved value.
  bool AreWeights(const Endpoint& value) const {
    if (IsSaved(value, SkipIdentities(cell_.recurrent))) return true;
    const int here = ArgumentOf(value), there = ArgumentOf(cell_.recurrent);
    return here >= 0 && body_.is_invariant[here] && there >= 0 &&
           Source(node_.input(here)) == SkipIdentities(forward_.node->input(there));
  }

  bool MatchesProducts(const Node& to_h, const Endpoint& d_sums) const {
    if (!Transposes(to_h, false, true) || !AreWeights(to_h.input(1))) return false;
    const auto product = OtherTerm(ResultOf(loop_.d_recurrent), ArgOf(loop_.d_recurrent));
    const Node& to_weights = *product->node;
    return Transposes(to_weights, true, false) && IsSavedState(to_weights.input(0), cell_.h) &&
           SkipIdentities(to_weights.input(1)) == d_sums;
  }

  // True if the gradient of the sums becomes an element of a list that was zero before.
  bool MatchesSequence(const Endpoint& d_sums) const {
    const auto element = OtherTerm(ResultOf(loop_.d_sequence), ArgOf(loop_.d_sequence));
    const Node& write = *element->node;
    const int index = ArgumentOf(Saved(write.input(1)));
    if (!SkipIdentities(write.input(0)).node->IsOp("TensorListReserve") ||
        Saved(write.input(1)).node == nullptr || index < 0 || !forward_.body.is_counter[index] ||
        !(SkipIdentities(write.input(2)) == d_sums)) {
      return false;
    }
    const Node& start = *SkipIdentities(node_.input(loop_.d_sequence)).node;
    if (!start.IsOp("ZerosLike")) return false;
    const Endpoint list = Source(start.input(0));
    if (!list.node->IsOp("TensorListFromTensor") || !(list.node->input(0) == forward_.sequence)) {
      return false;
    }
    for (const Use& use : node_.uses(loop_.d_sequence)) {
      if (!use.node->IsOp("TensorListStack") || use.index != 0) return false;
    }
    return true;
  }

  const SequenceLoop& forward_;
  const LstmCellPattern& cell_;
  const Node& node_;
  const LoopBody& body_;
  GradientLoop loop_;
};

// The only node, but `loop` itself, that uses counters and saved values of the loop; null if there
// are others, or none.
Node* GradientOf(const SequenceLoop& loop) {
  Node* gradient = nullptr;
  const auto collect = [&](int output) {
    for (const Use& use : loop.node->uses(output)) {
      if (gradient != nullptr && use.node != gradient) return false;
      gradient = use.node;
    }
    return true;
  };
  for (const SequenceLoop::Accumulator& accumulator : loop.accumulators) {
    if (!collect(accumulator.variable)) return nullptr;
  }
  for (size_t i = 0; i < loop.body.is_counter.size(); ++i) {
    if (loop.body.is_counter[i] && !collect(static_cast<int>(i))) return nullptr;
  }
  return gradient;
}

absl::Status Replace(Graph* graph, const SequenceLoop& loop, const LstmCellPattern& cell,
                     const Endpoint& recurrent, const GradientLoop& gradient) {
  Node* const forward = loop.node;
  Node* const backward = gradient.node;
  const Endpoint h = forward->input(cell.h), c = forward->input(cell.c);
  std::vector<Endpoint> inputs = {loop.sequence, recurrent, h, c};
  ASSIGN_OR_RETURN(const std::vector<Endpoint> limits, LimitsOf(graph, loop));
  inputs.insert(inputs.end(), limits.begin(), limits.end());
  ASSIGN_OR_RETURN(
      Node * training,
      graph->AddNode(graph->UniqueName(forward->name() + "/_LstmTraining"), "_LstmTraining",
                     {{"T", DType::kFloat},
                      {"num_limits", static_cast<int64_t>(limits.size())},
                      {"gates", cell.gates},
                      {"forget_bias", cell.forget_bias}},
                     inputs, forward->device()));
  ASSIGN_OR_RETURN(Node * gradients,
                   graph->AddNode(graph->UniqueName(backward->name() + "/_LstmGradient"),
                                  "_LstmGradient", {{"T", DType::kFloat}, {"gates", cell.gates}},
                                  {recurrent,
                                   h,
                                   c,
                                   {training, 0},
                                   {training, 1},
                                   {training, 2},
                                   {training, 3},
                                   backward->input(gradient.d_h),
                                   backward->input(gradient.d_c)},
                                  backward->device()));
  ASSIGN_OR_RETURN(
      Node * d_recurrent,
      graph->AddNode(graph->UniqueName(backward->name() + "/d_recurrent"), "AddV2",
                     {{"T", DType::kFloat}},
                     {backward->input(gradient.d_recurrent), {gradients, 1}}, backward->device()));
  RETURN_IF_ERROR(ReplaceStacks(graph, *backward, gradient.d_sequence, {gradients, 0}));
  for (int i = 0; i < backward->num_outputs(); ++i) {
    Endpoint value = backward->input(i);
    if (i == gradient.d_h) value = {gradients, 2};
    if (i == gradient.d_c) value = {gradients, 3};
    if (i == gradient.d_recurrent) value = {d_recurrent, 0};
    RETURN_IF_ERROR(graph->ReplaceUses({backward, i}, value));
  }
  for (Node* before : backward->control_inputs()) graph->AddControlEdge(before, gradients);
  graph->MoveControlOutputs(backward, gradients);
  graph->Remove(backward);
  for (int i = 0; i < forward->num_outputs(); ++i) {
    Endpoint value = forward->input(i);
    if (i == cell.h) value = {training, 4};
    if (i == cell.c) value = {training, 5};
    RETURN_IF_ERROR(graph->ReplaceUses({forward, i}, value));
  }
  for (Node* before : forward->control_inputs()) graph->AddControlEdge(before, training);
  graph->MoveControlOutputs(forward, training);
  graph->Remove(forward);
  return absl::OkStatus();
}

}  // namespace

absl::Status FuseRecurrenceGradientPass::Run(OptimizationItem& item, bool* changed) const {
  Graph& graph = *item.graph;
  if (graph.library() == nullptr) return absl::OkStatus();
  for (int id = 0, end = graph.id_bound(); id < end; ++id) {
    Node* node = graph.node(id);
    if (node == nullptr || item.IsPreserved(node)) continue;
    const std::optional<SequenceLoop> loop = AsSequenceLoop(node, *graph.library());
    if (!loop.has_value() || loop->accumulators.empty() || loop->output >= 0 ||
        !item.HasKernel("_LstmTraining", *node) || !item.HasKernel("_LstmGradient", *node)) {
      continue;
    }
    const std::optional<LstmCellPattern> cell = AsLstmCell(*loop);
    if (!cell.has_value() || cell->input.weights.node != nullptr || !cell->input.biases.empty()) {
      continue;
    }
    Node* const other = GradientOf(*loop);
    if (other == nullptr || item.IsPreserved(other)) continue;
    const std::optional<LoopBody> body = AsLoopBody(*other, *graph.library());
    if (!body.has_value()) continue;
    const auto gradient = GradientMatcher(*loop, *cell, other, *body).Match();
    if (!gradient.has_value()) continue;
    ASSIGN_OR_RETURN(const Endpoint recurrent, HoistInvariant(&graph, *loop, cell->recurrent));
    const PartialShape shape = InferredShape(recurrent);
    if (shape.rank() != 2 || shape.dim(0) <= 0 || shape.dim(1) != 4 * shape.dim(0)) continue;
    RETURN_IF_ERROR(Replace(&graph, *loop, *cell, recurrent, *gradient));
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera

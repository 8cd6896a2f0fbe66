#include "runtime/optimize/fuse_recurrence.h"

#include <optional>
#include <string>
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

// A cell, whatever its kind.
struct Cell {
  std::string op;
  int num_gates = 0;
  GateSum input, recurrent;
  std::vector<int64_t> gates;
  std::vector<int> states;  // loop variables, the output first
  int64_t units = -1;       // -1: not known from the body
  Endpoint written;         // the output of a step
  AttrMap attrs;            // of this kind only
};

std::optional<Cell> AsCell(const SequenceLoop& loop) {
  if (const auto lstm = AsLstmCell(loop)) {
    Cell cell{.op = "_LstmLoop",
              .num_gates = 4,
              .input = lstm->input,
              .recurrent = {.weights = lstm->recurrent},
              .gates = lstm->gates,
              .states = {lstm->h, lstm->c},
              .written = lstm->new_h};
    cell.attrs.emplace("forget_bias", lstm->forget_bias);
    return cell;
  }
  if (const auto gru = AsGruCell(loop)) {
    return Cell{.op = "_GruLoop",
                .num_gates = 3,
                .input = gru->input,
                .recurrent = gru->recurrent,
                .gates = gru->gates,
                .states = {gru->h},
                .units = gru->units,
                .written = gru->new_h};
  }
  return std::nullopt;
}

bool UsesCounters(const SequenceLoop& loop) {
  for (int i = 0; i < loop.node->num_outputs(); ++i) {
    if (loop.body.is_counter[i] && !loop.node->uses(i).empty()) return true;
  }
  return false;
}

// Replaces one loop.
class LoopFusion {
 public:
  LoopFusion(Graph* graph, const SequenceLoop& loop, const Cell& cell)
      : graph_(*graph), loop_(loop), cell_(cell), node_(loop.node) {}

  // False if the loop has to stay. What was added meanwhile is then not used by anything.
  absl::StatusOr<bool> Run() {
    ASSIGN_OR_RETURN(const Endpoint recurrent, Hoist(cell_.recurrent.weights));
    const PartialShape shape = InferredShape(recurrent);
    if (shape.rank() != 2 || shape.dim(0) <= 0 || shape.dim(1) != cell_.num_gates * shape.dim(0) ||
        (cell_.units >= 0 && cell_.units != shape.dim(0))) {
      return false;
    }
    if (loop_.window.has_value() && loop_.output >= 0 &&
        loop_.window->written_columns != shape.dim(0)) {
      return false;
    }
    columns_ = shape.dim(1);
    const bool has_kernel = cell_.input.weights.node != nullptr;
    std::vector<Endpoint> kernel, bias, recurrent_bias;
    ASSIGN_OR_RETURN(Endpoint x, Sequence());
    if (has_kernel) {
      ASSIGN_OR_RETURN(const Endpoint weights, Hoist(cell_.input.weights));
      if (InferredShape(weights).rank() != 2) return false;
      kernel.push_back(weights);
    }
    ASSIGN_OR_RETURN(bool fits, HoistBiases(cell_.input.biases, &bias));
    if (!fits) return false;
    ASSIGN_OR_RETURN(fits, HoistBiases(cell_.recurrent.biases, &recurrent_bias));
    if (!fits) return false;
    if (!has_kernel && !bias.empty()) {
      ASSIGN_OR_RETURN(Node * sum, Add("AddV2", {{"T", DType::kFloat}}, {x, bias[0]}));
      x = {sum, 0};
      bias.clear();
    }
    std::vector<Endpoint> states;
    for (const int state : cell_.states) states.push_back(node_->input(state));
    ASSIGN_OR_RETURN(const std::vector<Endpoint> limits, LimitsOf(&graph_, loop_));
    Endpoint size = loop_.size;
    if (loop_.output < 0 || loop_.window.has_value()) {
      const Tensor number =
          loop_.output < 0 ? Tensor::Scalar<int32_t>(0) : loop_.limits[0].constant;
      ASSIGN_OR_RETURN(size.node,
                       AddConstant(&graph_, node_->name() + "/size", number, node_->device()));
    }

    AttrMap attrs = cell_.attrs;
    attrs.emplace("T", DType::kFloat);
    attrs.emplace("gates", cell_.gates);
    attrs.emplace("last_only", loop_.output < 0 || loop_.last_only);
    std::vector<Endpoint> inputs = {x};
    const auto add = [&](const char* count, const std::vector<Endpoint>& values) {
      attrs.emplace(count, static_cast<int64_t>(values.size()));
      inputs.insert(inputs.end(), values.begin(), values.end());
    };
    add("num_kernels", kernel);
    add("num_biases", bias);
    inputs.push_back(recurrent);
    if (cell_.num_gates == 3) add("num_recurrent_biases", recurrent_bias);
    add("num_states", states);
    add("num_limits", limits);
    inputs.push_back(size);
    ASSIGN_OR_RETURN(Node * fused, Add(cell_.op, std::move(attrs), inputs));
    RETURN_IF_ERROR(TakeOver(fused));
    return true;
  }

 private:
  absl::StatusOr<Endpoint> Hoist(const Endpoint& value) {
    return HoistInvariant(&graph_, loop_, value);
  }

  // The input of all steps: of a tensor, what the loop reads of it.
  absl::StatusOr<Endpoint> Sequence() {
    if (!loop_.window.has_value()) return loop_.sequence;
    const auto ints = [&](std::vector<int32_t> values) -> absl::StatusOr<Endpoint> {
      ASSIGN_OR_RETURN(Node * constant,
                       AddConstant(&graph_, node_->name() + "/window",
                                   Tensor::Vector<int32_t>(values), node_->device()));
      return Endpoint{constant, 0};
    };
    const int32_t steps = loop_.limits[0].constant.flat<int32_t>()[0];
    const SequenceLoop::Window& window = *loop_.window;
    ASSIGN_OR_RETURN(const Endpoint one, ints({1}));
    Endpoint rows;
    if (window.rows.is_number()) {
      ASSIGN_OR_RETURN(rows, ints({static_cast<int32_t>(window.rows.number)}));
    } else {
      ASSIGN_OR_RETURN(const Endpoint number, Hoist(window.rows.base));
      ASSIGN_OR_RETURN(rows.node, Add("Reshape", {{"T", DType::kInt32}, {"Tshape", DType::kInt32}},
                                      {number, one}));
    }
    ASSIGN_OR_RETURN(const Endpoint first, ints({steps}));
    ASSIGN_OR_RETURN(const Endpoint last, ints({static_cast<int32_t>(window.columns)}));
    ASSIGN_OR_RETURN(Node * axis, AddConstant(&graph_, node_->name() + "/axis",
                                              Tensor::Scalar<int32_t>(0), node_->device()));
    ASSIGN_OR_RETURN(
        Node * size,
        Add("ConcatV2", {{"N", int64_t{3}}, {"T", DType::kInt32}, {"Tidx", DType::kInt32}},
            {first, rows, last, {axis, 0}}));
    ASSIGN_OR_RETURN(const Endpoint begin, ints({0, 0, 0}));
    ASSIGN_OR_RETURN(Node * slice, Add("Slice", {{"T", DType::kFloat}, {"Index", DType::kInt32}},
                                       {loop_.sequence, begin, {size, 0}}));
    return Endpoint{slice, 0};
  }

  absl::StatusOr<Node*> Add(const std::string& op, AttrMap attrs,
                            const std::vector<Endpoint>& inputs) {
    return graph_.AddNode(graph_.UniqueName(absl::StrCat(node_->name(), "/", op)), op,
                          std::move(attrs), inputs, node_->device());
  }

  // Adds the sum of the biases to *sum, if there are any. False if one of them is not known to be a
  // vector over the columns.
  absl::StatusOr<bool> HoistBiases(const std::vector<Endpoint>& biases,
                                   std::vector<Endpoint>* sum) {
    for (const Endpoint& bias : biases) {
      ASSIGN_OR_RETURN(Endpoint hoisted, Hoist(bias));
      PartialShape shape = InferredShape(hoisted);
      if (hoisted.node->IsOp("BroadcastTo") && shape.rank() == 2 && shape.dim(0) == 1) {
        hoisted = hoisted.node->input(0);
        shape = InferredShape(hoisted);
      }
      if (shape.rank() != 1 || shape.dim(0) != columns_) return false;
      if (!sum->empty()) {
        ASSIGN_OR_RETURN(hoisted.node,
                         Add("AddV2", {{"T", DType::kFloat}}, {sum->back(), hoisted}));
        hoisted.index = 0;
        sum->clear();
      }
      sum->push_back(hoisted);
    }
    return true;
  }

  // Lets everything that used the loop use `fused`.
  absl::Status TakeOver(Node* fused) {
    for (Node* before : node_->control_inputs()) graph_.AddControlEdge(before, fused);
    for (int i = 0; i < node_->num_outputs(); ++i) {
      if (node_->uses(i).empty()) continue;
      if (i == loop_.output && loop_.window.has_value()) {
        RETURN_IF_ERROR(graph_.ReplaceUses({node_, i}, {fused, 0}));
        continue;
      }
      if (i == loop_.output) {
        RETURN_IF_ERROR(ReplaceStacks(&graph_, *node_, i, {fused, 0}));
        continue;
      }
      Endpoint value = node_->input(i);
      for (size_t state = 0; state < cell_.states.size(); ++state) {
        if (cell_.states[state] == i) value = {fused, 1 + static_cast<int>(state)};
      }
      RETURN_IF_ERROR(graph_.ReplaceUses({node_, i}, value));
    }
    graph_.MoveControlOutputs(node_, fused);
    graph_.Remove(node_);
    return absl::OkStatus();
  }

  Graph& graph_;
  const SequenceLoop& loop_;
  const Cell& cell_;
  Node* const node_;
  int64_t columns_ = 0;
};

}  // namespace

absl::Status FuseRecurrencePass::Run(OptimizationItem& item, bool* changed) const {
  Graph& graph = *item.graph;
  if (graph.library() == nullptr) return absl::OkStatus();
  for (int id = 0, end = graph.id_bound(); id < end; ++id) {
    Node* node = graph.node(id);
    if (node == nullptr || item.IsPreserved(node)) continue;
    const std::optional<SequenceLoop> loop = AsSequenceLoop(node, *graph.library());
    if (!loop.has_value() || !loop->accumulators.empty() || UsesCounters(*loop)) continue;
    const std::optional<Cell> cell = AsCell(*loop);
    if (!cell.has_value() || !item.HasKernel(cell->op, *node) ||
        (loop->output >= 0 && !(loop->written == cell->written))) {
      continue;
    }
    ASSIGN_OR_RETURN(const bool is_fused, LoopFusion(&graph, *loop, *cell).Run());
    *changed |= is_fused;
  }
  return absl::OkStatus();
}

}  // namespace tessera

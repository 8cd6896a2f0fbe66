#include "runtime/optimize/sequence_loop.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/side_effects.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/inline_functions.h"
#include "runtime/optimize/scan_loop.h"

namespace tessera {
namespace {

constexpr int kMaxDepth = 50;  // of expressions

bool IsIntConstant(const Endpoint& value, int32_t number) {
  const Tensor* constant = ConstantValue(SkipIdentities(value));
  return constant != nullptr && constant->dtype() == DType::kInt32 && constant->rank() == 0 &&
         constant->flat<int32_t>()[0] == number;
}

// True if `value` is argument `arg` plus one.
bool IsNextOf(const Endpoint& value, int arg) {
  const Node& sum = *SkipIdentities(value).node;
  if (!sum.IsOp("AddV2") && !sum.IsOp("Add")) return false;
  return (ArgumentOf(sum.input(0)) == arg && IsIntConstant(sum.input(1), 1)) ||
         (ArgumentOf(sum.input(1)) == arg && IsIntConstant(sum.input(0), 1));
}

// The function that an attribute names, without calls. nullopt if it has side effects.
std::optional<FunctionBody> BodyOf(const FunctionLibrary& library, const Node& node,
                                   absl::string_view attr) {
  const auto function = node.attr<FunctionRef>(attr);
  if (!function.ok()) return std::nullopt;
  auto body = library.Instantiate(*function);
  if (!body.ok()) return std::nullopt;
  OptimizationItem item;
  item.graph = body->graph.get();
  item.preserved = body->args;
  item.preserved.insert(item.preserved.end(), body->results.begin(), body->results.end());
  bool changed = false;
  if (!InlineFunctionsPass().Run(item, &changed).ok()) return std::nullopt;
  for (const Node* inner : body->graph->nodes()) {
    if (!inner->IsOp("_Arg") && !inner->IsOp("_Retval") && HasSideEffect(*inner, &library)) {
      return std::nullopt;
    }
  }
  return *std::move(body);
}

Endpoint ResultOf(const FunctionBody& body, int i) {
  return SkipIdentities(body.results[i]->input(0));
}

// Adds the limits of the counters that the condition names. False if it asks anything else.
bool ReadCondition(const SequenceLoop& loop, const Endpoint& condition, int depth,
                   std::vector<SequenceLoop::Limit>* limits) {
  const Endpoint from = SkipIdentities(condition);
  const Node& node = *from.node;
  if (depth > kMaxDepth) return false;
  if (node.IsOp("LogicalAnd")) {
    return ReadCondition(loop, node.input(0), depth + 1, limits) &&
           ReadCondition(loop, node.input(1), depth + 1, limits);
  }
  if (!node.IsOp("Less") || node.input_type(0) != DType::kInt32) return false;
  const int counter = ArgumentOf(node.input(0));
  if (counter < 0 || !loop.body.is_counter[counter]) return false;
  const Endpoint limit = SkipIdentities(node.input(1));
  if (const Tensor* constant = ConstantValue(limit)) {
    if (constant->num_elements() != 1) return false;
    limits->push_back({.constant = *constant});
    return true;
  }
  const int arg = ArgumentOf(limit);
  if (arg < 0 || !loop.body.is_invariant[arg]) return false;
  limits->push_back({.value = loop.node->input(arg)});
  return true;
}

// Finds what the loop reads: one list that was made of a tensor, at the counter.
bool ReadInput(SequenceLoop* loop) {
  for (Node* node : loop->body.function.graph->nodes()) {
    if (!node->IsOp("TensorListGetItem")) continue;
    const int list = ArgumentOf(node->input(0)), index = ArgumentOf(node->input(1));
    if (list < 0 || !loop->body.is_invariant[list] || index < 0 || !loop->body.is_counter[index] ||
        loop->element.node != nullptr || node->output_type(0) != DType::kFloat) {
      return false;
    }
    const Endpoint made = SkipIdentities(loop->node->input(list));
    if (!made.node->IsOp("TensorListFromTensor")) return false;
    loop->sequence = made.node->input(0);
    loop->element = {node, 0};
  }
  return loop->element.node != nullptr;
}

// True if loop variable i is a list that gets one matrix in each step, and is then stacked.
bool ReadOutput(int i, SequenceLoop* loop) {
  const Node& write = *ResultOf(loop->body.function, i).node;
  const Node& made = *SkipIdentities(loop->node->input(i)).node;
  if (!write.IsOp("TensorListSetItem") || ArgumentOf(write.input(0)) != i || loop->output >= 0 ||
      !made.IsOp("TensorListReserve") || made.input_type(1) != DType::kInt32 ||
      write.input_type(2) != DType::kFloat) {
    return false;
  }
  const auto resizes = write.attr<bool>("resize_if_index_out_of_bounds");
  if (!resizes.ok() || *resizes) return false;
  const int index = ArgumentOf(write.input(1));
  loop->last_only = IsIntConstant(write.input(1), 0);
  if (!loop->last_only && (index < 0 || !loop->body.is_counter[index])) return false;
  loop->output = i;
  loop->written = SkipIdentities(write.input(2));
  loop->size = made.input(1);
  if (loop->last_only && !IsIntConstant(loop->size, 1)) return false;
  const Tensor* const size = ConstantValue(SkipIdentities(loop->size));
  for (const Use& use : loop->node->uses(i)) {
    if (!use.node->IsOp("TensorListStack") || use.index != 0) return false;
    const auto expected = use.node->attr<int64_t>("num_elements");
    if (!expected.ok()) return false;
    if (*expected >= 0 &&
        (size == nullptr || size->num_elements() != 1 || size->flat<int32_t>()[0] != *expected)) {
      return false;
    }
  }
  return true;
}

// True if loop variable i is a list, empty at first, to which each step adds a value.
bool ReadAccumulator(int i, SequenceLoop* loop) {
  const Node& push = *ResultOf(loop->body.function, i).node;
  if (!push.IsOp("TensorListPushBack") || ArgumentOf(push.input(0)) != i ||
      !SkipIdentities(loop->node->input(i)).node->IsOp("EmptyTensorList")) {
    return false;
  }
  loop->accumulators.push_back({.variable = i, .value = SkipIdentities(push.input(1))});
  return true;
}

}  // namespace

Endpoint SkipIdentities(Endpoint value) {
  while (value.node->IsOp("Identity")) value = value.node->input(0);
  return value;
}

int ArgumentOf(const Endpoint& value) {
  const Endpoint from = SkipIdentities(value);
  if (!from.node->IsOp("_Arg")) return -1;
  const auto index = from.node->attr<int64_t>("index");
  return index.ok() ? static_cast<int>(*index) : -1;
}

std::optional<LoopBody> AsLoopBody(const Node& node, const FunctionLibrary& library) {
  if (!node.IsOp("While") && !node.IsOp("StatelessWhile")) return std::nullopt;
  const size_t n = static_cast<size_t>(node.num_inputs());
  std::optional<FunctionBody> condition = BodyOf(library, node, "cond");
  std::optional<FunctionBody> function = BodyOf(library, node, "body");
  if (!condition.has_value() || !function.has_value() || condition->args.size() != n ||
      function->args.size() != n || condition->results.size() != 1 ||
      function->results.size() != n) {
    return std::nullopt;
  }
  LoopBody body{.function = *std::move(function), .condition = *std::move(condition)};
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Endpoint result = body.function.results[i]->input(0);
    body.is_invariant.push_back(ArgumentOf(result) == i);
    body.is_counter.push_back(IsNextOf(result, i) && IsIntConstant(node.input(i), 0));
  }
  return body;
}

std::optional<SequenceLoop> AsSequenceLoop(Node* node, const FunctionLibrary& library) {
  std::optional<LoopBody> body = AsLoopBody(*node, library);
  if (!body.has_value()) return std::nullopt;
  SequenceLoop loop{.node = node, .body = *std::move(body)};
  if (!ReadCondition(loop, loop.body.condition.results[0]->input(0), 0, &loop.limits)) {
    return std::nullopt;
  }
  if (!ReadInput(&loop) && (loop.element.node != nullptr || !ReadScannedInput(&loop))) {
    return std::nullopt;
  }
  for (int i = 0; i < node->num_inputs(); ++i) {
    if (loop.body.is_invariant[i] || loop.body.is_counter[i]) continue;
    const bool is_read = loop.window.has_value()
                             ? ReadScannedOutput(i, &loop)
                             : ReadOutput(i, &loop) || ReadAccumulator(i, &loop);
    if (!is_read) loop.states.push_back(i);
  }
  return loop;
}

namespace {

bool IsInvariant(const SequenceLoop& loop, const Endpoint& value, int depth) {
  if (depth > kMaxDepth) return false;
  const Node& node = *value.node;
  if (node.IsOp("_Arg")) {
    const int arg = ArgumentOf(value);
    return arg >= 0 && loop.body.is_invariant[arg];
  }
  if (!IsPure(node) && !node.IsOp("ReadVariableOp")) return false;
  for (const Endpoint& input : node.inputs()) {
    if (!IsInvariant(loop, input, depth + 1)) return false;
  }
  return true;
}

}  // namespace

bool IsInvariant(const SequenceLoop& loop, const Endpoint& value) {
  return IsInvariant(loop, value, 0);
}

absl::StatusOr<Endpoint> HoistInvariant(Graph* graph, const SequenceLoop& loop,
                                        const Endpoint& value) {
  const Node& node = *value.node;
  if (node.IsOp("_Arg")) return loop.node->input(ArgumentOf(value));
  if (node.IsOp("Identity")) return HoistInvariant(graph, loop, node.input(0));
  std::vector<Endpoint> inputs;
  for (const Endpoint& input : node.inputs()) {
    ASSIGN_OR_RETURN(const Endpoint hoisted, HoistInvariant(graph, loop, input));
    inputs.push_back(hoisted);
  }
  ASSIGN_OR_RETURN(
      Node * copy,
      graph->AddNode(graph->UniqueName(absl::StrCat(loop.node->name(), "/", node.name())),
                     node.op_name(), node.attrs(), inputs, loop.node->device()));
  if (!IsPure(node)) {
    for (Node* before : loop.node->control_inputs()) graph->AddControlEdge(before, copy);
  }
  return Endpoint{copy, value.index};
}

absl::StatusOr<std::vector<Endpoint>> LimitsOf(Graph* graph, const SequenceLoop& loop) {
  std::vector<Endpoint> limits;
  for (const SequenceLoop::Limit& limit : loop.limits) {
    Endpoint value = limit.value;
    if (value.node == nullptr) {
      ASSIGN_OR_RETURN(value.node, AddConstant(graph, loop.node->name() + "/limit", limit.constant,
                                               loop.node->device()));
    }
    limits.push_back(value);
  }
  return limits;
}

absl::Status ReplaceStacks(Graph* graph, const Node& node, int output, const Endpoint& stacked) {
  const std::vector<Use> uses = node.uses(output);
  for (const Use& use : uses) {
    RETURN_IF_ERROR(graph->ReplaceUses({use.node, 0}, stacked));
    graph->MoveControlOutputs(use.node, stacked.node);
    graph->Remove(use.node);
  }
  return absl::OkStatus();
}

}  // namespace tessera

#include "runtime/optimize/fold_constants.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/flushed_denormals.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel_call.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/shape_inference.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/side_effects.h"
#include "runtime/host/mapping_guard.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/derived_constants.h"

namespace tessera {
namespace {

constexpr size_t kMaxBytes = size_t{10} << 20;
constexpr size_t kAlwaysFineBytes = size_t{64} << 10;
// By how much a result may be larger than its inputs: weights of int8 become float.
constexpr size_t kMaxGrowth = 4;

bool CanFold(const OptimizationItem& item, const Node& node) {
  if (!IsPure(node) || node.IsOp("Const") || node.num_outputs() == 0 || node.num_inputs() == 0 ||
      item.IsPreserved(&node)) {
    return false;
  }
  for (const Endpoint& input : node.inputs()) {
    if (PresentValue(input) == nullptr) return false;
  }
  for (Node* control : node.control_inputs()) {
    if (PresentValue({control, 0}) == nullptr) return false;
  }
  for (DType type : node.output_types()) {
    if (type == DType::kResource || type == DType::kVariant) return false;
  }
  return true;
}

// The bytes of the outputs of a node that can be folded, as far as its shape function tells; what
// is too large to keep is not computed, which may take much memory and time.
size_t ExpectedBytes(const Node& node) {
  if (node.op().shape_fn == nullptr) return 0;
  std::vector<PartialShape> shapes;
  std::vector<const Tensor*> values;
  for (const Endpoint& input : node.inputs()) {
    values.push_back(PresentValue(input));
    shapes.emplace_back(values.back()->shape());
  }
  ShapeContext context(node.op(), node.attrs(), std::move(shapes), std::move(values),
                       node.num_outputs());
  if (!node.op().shape_fn(context).ok()) return 0;
  size_t bytes = 0;
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (const absl::StatusOr<Shape> shape = context.outputs()[i].AsShape(); shape.ok()) {
      bytes += static_cast<size_t>(shape->num_elements()) * DTypeSize(node.output_type(i));
    }
  }
  return bytes;
}

// What is left of a node that is to be folded.
struct NodeCall {
  explicit NodeCall(const Node& node)
      : op(node.op()),
        name(node.name()),
        attrs(node.attrs()),
        input_types(node.input_types()),
        output_types(node.output_types()) {}

  const OpDef& op;  // a registered one: no function is pure
  std::string name;
  AttrMap attrs;
  std::vector<DType> input_types, output_types;
};

// The outputs of the node. Errors: those of its kernel; FAILED_PRECONDITION if they cannot be
// computed here.
absl::StatusOr<std::vector<Tensor>> Compute(const NodeCall& call,
                                            const DerivedConstants::Host& host,
                                            absl::Span<const Tensor> inputs) {
  const KernelBuild build(call.op, call.name, call.attrs, call.input_types, call.output_types,
                          host.device, /*functions=*/nullptr);
  ASSIGN_OR_RETURN(const std::unique_ptr<OpKernel> kernel, CreateKernel(build));
  if (kernel->IsAsync()) return absl::FailedPreconditionError("the kernel waits");
  const size_t num_outputs = call.output_types.size();
  std::vector<Value> values(inputs.size() + num_outputs);
  std::vector<KernelContext::InputSlot> slots(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[i].tensor = inputs[i];
    slots[i] = {static_cast<uint32_t>(i), 0};
  }
  ResourceManager resources, step_resources;
  CancellationManager cancellation;
  StepContext step;
  step.resources = &resources;
  step.step_resources = &step_resources;
  step.cancellation = &cancellation;
  step.intra_op_pool = host.pool;
  KernelContext context(step, host.device);
  Value* const outputs = values.data() + inputs.size();
  const FlushedDenormals flushed;
  context.Bind(values.data(), slots, outputs, call.output_types);
  RETURN_IF_ERROR(CallKernel(*kernel, context));
  std::vector<Tensor> results;
  for (size_t i = 0; i < num_outputs; ++i) {
    if (outputs[i].tensor.dtype() != call.output_types[i]) {
      return absl::FailedPreconditionError("the kernel gives another dtype");
    }
    results.push_back(std::move(outputs[i].tensor));
  }
  return results;
}

// The outputs of the node; empty if they cannot be computed here.
std::vector<Tensor> Compute(const OptimizationItem& item, const Node& node) {
  std::vector<Tensor> inputs;
  for (const Endpoint& input : node.inputs()) inputs.push_back(*PresentValue(input));
  return Compute(NodeCall(node), {item.host(), item.pool}, inputs).value_or(std::vector<Tensor>());
}

// Returns the numbers of the results of a folded node; empty if none of its inputs is derived.
std::vector<int64_t> NoteResults(const OptimizationItem& item, const Node& node,
                                 const std::vector<Tensor>& results) {
  const IntrusivePtr<DerivedConstants> derived = DerivedConstants::Of(item);
  if (derived == nullptr) return {};
  std::string what = node.op_name();
  for (const auto& [name, value] : node.attrs()) {
    absl::StrAppend(&what, "|", name, "=", value.ToString());
  }
  return derived->Note(
      what, node.inputs(),
      [call = NodeCall(node)](const DerivedConstants::Host& host, absl::Span<const Tensor> inputs) {
        return Compute(call, host, inputs);
      },
      results);
}

bool WorthKeeping(const Node& node, const std::vector<Tensor>& results) {
  size_t before = 0, after = 0;
  for (const Endpoint& input : node.inputs()) before += PresentValue(input)->total_bytes();
  for (const Tensor& result : results) after += result.total_bytes();
  return after <= kMaxBytes && (after <= kAlwaysFineBytes || after <= kMaxGrowth * before);
}

// Puts Consts with these results in the node's place.
absl::Status Replace(const OptimizationItem& item, Node* node, const std::vector<Tensor>& results) {
  Graph& graph = *item.graph;
  const std::vector<int64_t> numbers = NoteResults(item, *node, results);
  for (int i = 0; i < node->num_outputs(); ++i) {
    if (node->uses(i).empty()) continue;
    ASSIGN_OR_RETURN(Node * constant, AddConstant(&graph, absl::StrCat(node->name(), "/folded"),
                                                  results[i], node->device()));
    if (!numbers.empty()) SetDerivedNumber(constant, numbers[i]);
    RETURN_IF_ERROR(graph.ReplaceUses({node, i}, {constant, 0}));
  }
  const std::vector<Endpoint> inputs = node->inputs();
  // Who waited for it waited for nothing that takes place in a step.
  graph.Remove(node);
  for (const Endpoint& input : inputs) {
    if (!input.node->uses(0).empty()) continue;
    const Tensor& value = *PresentValue(input);
    ReleaseMappedPages({value.raw(), value.size_bytes()});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> FoldNode(const OptimizationItem& item, Node* node) {
  if (!CanFold(item, *node)) return false;
  const std::vector<Tensor> results = Compute(item, *node);
  if (results.empty()) return false;
  RETURN_IF_ERROR(Replace(item, node, results));
  return true;
}

absl::Status FoldConstantsPass::Run(OptimizationItem& item, bool* changed) const {
  ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(*item.graph));
  for (Node* node : order) {
    if (!CanFold(item, *node) || ExpectedBytes(*node) > kMaxBytes) continue;
    const std::vector<Tensor> results = Compute(item, *node);
    if (results.empty() || !WorthKeeping(*node, results)) continue;
    RETURN_IF_ERROR(Replace(item, node, results));
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera

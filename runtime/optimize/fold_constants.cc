#include "runtime/optimize/fold_constants.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/side_effects.h"
#include "runtime/host/mapping_guard.h"
#include "runtime/optimize/constant_node.h"

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
    if (ConstantValue(input) == nullptr) return false;
  }
  for (Node* control : node.control_inputs()) {
    if (ConstantValue({control, 0}) == nullptr) return false;
  }
  for (DType type : node.output_types()) {
    if (type == DType::kResource || type == DType::kVariant) return false;
  }
  return true;
}

// The outputs of the node; empty if they cannot be computed here.
std::vector<Tensor> Compute(const OptimizationItem& item, const Node& node) {
  Device* const device = item.host();
  const KernelBuild build(node.op(), node.name(), node.attrs(), node.input_types(),
                          node.output_types(), device, /*functions=*/nullptr);
  auto kernel = CreateKernel(build);
  if (!kernel.ok() || (*kernel)->IsAsync()) return {};
  std::vector<Value> values(node.num_inputs() + node.num_outputs());
  std::vector<KernelContext::InputSlot> slots(node.num_inputs());
  for (int i = 0; i < node.num_inputs(); ++i) {
    values[i].tensor = *ConstantValue(node.input(i));
    slots[i] = {static_cast<uint32_t>(i), 0};
  }
  ResourceManager resources, step_resources;
  CancellationManager cancellation;
  StepContext step;
  step.resources = &resources;
  step.step_resources = &step_resources;
  step.cancellation = &cancellation;
  step.intra_op_pool = item.pool;
  KernelContext context(step, device);
  Value* const outputs = values.data() + node.num_inputs();
  context.Bind(values.data(), slots, outputs, node.output_types());
  if (!(*kernel)->Compute(context).ok()) return {};
  std::vector<Tensor> results;
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (outputs[i].tensor.dtype() != node.output_type(i)) return {};
    results.push_back(std::move(outputs[i].tensor));
  }
  return results;
}

bool WorthKeeping(const Node& node, const std::vector<Tensor>& results) {
  size_t before = 0, after = 0;
  for (const Endpoint& input : node.inputs()) before += ConstantValue(input)->total_bytes();
  for (const Tensor& result : results) after += result.total_bytes();
  return after <= kMaxBytes && (after <= kAlwaysFineBytes || after <= kMaxGrowth * before);
}

// Puts Consts with these results in the node's place.
absl::Status Replace(Graph& graph, Node* node, const std::vector<Tensor>& results) {
  for (int i = 0; i < node->num_outputs(); ++i) {
    if (node->uses(i).empty()) continue;
    ASSIGN_OR_RETURN(Node * constant, AddConstant(&graph, absl::StrCat(node->name(), "/folded"),
                                                  results[i], node->device()));
    RETURN_IF_ERROR(graph.ReplaceUses({node, i}, {constant, 0}));
  }
  const std::vector<Endpoint> inputs = node->inputs();
  // Who waited for it waited for nothing that takes place in a step.
  graph.Remove(node);
  for (const Endpoint& input : inputs) {
    if (!input.node->uses(0).empty()) continue;
    const Tensor& value = *ConstantValue(input);
    ReleaseMappedPages({value.raw(), value.size_bytes()});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> FoldNode(const OptimizationItem& item, Node* node) {
  if (!CanFold(item, *node)) return false;
  const std::vector<Tensor> results = Compute(item, *node);
  if (results.empty()) return false;
  RETURN_IF_ERROR(Replace(*item.graph, node, results));
  return true;
}

absl::Status FoldConstantsPass::Run(OptimizationItem& item, bool* changed) const {
  ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(*item.graph));
  for (Node* node : order) {
    if (!CanFold(item, *node)) continue;
    const std::vector<Tensor> results = Compute(item, *node);
    if (results.empty() || !WorthKeeping(*node, results)) continue;
    RETURN_IF_ERROR(Replace(*item.graph, node, results));
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera

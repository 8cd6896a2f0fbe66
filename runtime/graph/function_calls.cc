#include "runtime/graph/function_calls.h"

#include "runtime/graph/function.h"

namespace tessera {

FunctionCalls CallsOf(const Graph& graph, const Node& node) {
  FunctionCalls calls;
  const OpDef& op = node.op();
  if (!op.Has(OpTrait::kCallsFunctions)) return calls;
  if (graph.library() != nullptr && graph.library()->Contains(node.op_name())) {
    calls.functions.push_back({node.op_name(), node.attrs()});
    return calls;
  }
  for (const AttrDef& attr : op.attrs) {
    const auto value = node.attrs().find(attr.name);
    if (value == node.attrs().end()) continue;
    if (const auto* function = value->second.get<FunctionRef>()) {
      calls.functions.push_back(*function);
    } else if (const auto* functions = value->second.get<std::vector<FunctionRef>>()) {
      calls.functions.insert(calls.functions.end(), functions->begin(), functions->end());
    }
  }
  for (const ArgDef& arg : op.inputs) {
    if (arg.use != ArgUse::kPassed) continue;
    const absl::StatusOr<ArgRange> range = InputRange(op, node.attrs(), arg.name);
    if (range.ok()) calls.first_arg = range->begin;
  }
  calls.is_loop = op.Has(OpTrait::kLoopsFunctions);
  return calls;
}

}  // namespace tessera

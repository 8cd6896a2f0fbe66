#include "runtime/session/graph_census.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status.h"
#include "runtime/exec/missing_kernels.h"
#include "runtime/framework/device_name.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/op.h"
#include "runtime/graph/attr_value_proto.h"
#include "runtime/session/named_functions.h"
#include "runtime/session/preferred_functions.h"
#include "runtime/stablehlo/expand_call_modules.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// Returns how OpUse::devices describes the devices of a kernel.
std::string DevicesOf(const KernelDef& kernel) {
  if (kernel.devices.Names(kCpu)) return "CPU";
  return kernel.devices.Names(kAnyDevice) ? "every device" : "by primitives";
}

// Finds the kernel that runs this node, and adds its dtype and device to *use. Sets *has_gpu_kernel
// to false if a GPU has none. The message of an error is empty if the op has no kernel at all, for
// no reason that the node tells.
absl::Status FindKernel(const tensorflow::NodeDef& node, OpUse* use, bool* has_gpu_kernel) {
  const KernelRegistry& kernels = KernelRegistry::Global();
  if (!kernels.HasKernel(node.op())) {
    const auto reason = node.attr().find("_unsupported");
    return absl::NotFoundError(reason == node.attr().end() ? WhyNoKernel(node.op())
                                                           : absl::string_view(reason->second.s()));
  }
  const OpDef* const op = OpRegistry::Global().Find(node.op());
  if (op == nullptr) {
    return absl::NotFoundError(absl::StrCat("op ", node.op(), " has a kernel but no declaration"));
  }
  ASSIGN_OR_RETURN(AttrMap attrs, AttrMapFromProto(node.attr()));
  RETURN_IF_ERROR(CompleteAttrs(*op, &attrs));
  const bool depends_on_caller = std::any_of(
      attrs.begin(), attrs.end(), [](const auto& attr) { return attr.second.is_placeholder(); });
  if (depends_on_caller) return absl::OkStatus();
  ASSIGN_OR_RETURN(const KernelDef* const kernel, kernels.Find(node.op(), kCpu, attrs));
  use->devices.insert(DevicesOf(*kernel));
  *has_gpu_kernel = kernels.Find(node.op(), kGpu, attrs).ok();
  ASSIGN_OR_RETURN(const std::vector<DType> outputs, OutputTypes(*op, attrs));
  if (!outputs.empty()) use->dtypes.emplace(DTypeName(RemoveRef(outputs[0])));
  return absl::OkStatus();
}

using Functions = std::map<std::string, const tensorflow::FunctionDef*, std::less<>>;

// Appends the functions that a node calls, by its op or by its attributes.
void AppendCalls(const tensorflow::NodeDef& node, std::vector<absl::string_view>* names) {
  names->push_back(node.op());
  AppendNamedFunctions(node, names);
}

// Returns the functions that the nodes of the graph call, and those that these call, by name.
Functions CalledFunctions(const tensorflow::GraphDef& graph) {
  Functions all, called;
  for (const auto& function : graph.library().function()) {
    all[function.signature().name()] = &function;
  }
  std::vector<absl::string_view> names;
  for (const tensorflow::NodeDef& node : graph.node()) AppendCalls(node, &names);
  while (!names.empty()) {
    const auto found = all.find(names.back());
    names.pop_back();
    if (found == all.end() || !called.insert(*found).second) continue;
    for (const tensorflow::NodeDef& node : found->second->node_def()) AppendCalls(node, &names);
  }
  return called;
}

}  // namespace

int GraphCensus::NumOpsWithoutKernel() const {
  return static_cast<int>(std::count_if(ops.begin(), ops.end(), [](const auto& entry) {
    return !entry.second.without_kernel.empty();
  }));
}

int GraphCensus::NumOpsWithoutGpuKernel() const {
  return static_cast<int>(std::count_if(ops.begin(), ops.end(), [](const auto& entry) {
    return !entry.second.without_gpu_kernel.empty();
  }));
}

GraphCensus TakeCensus(const tensorflow::GraphDef& given, bool has_gpus) {
  // What loads is the graph with the functions that it calls here, and the ops of its StableHLO
  // modules.
  std::optional<tensorflow::GraphDef> expanded;
  if (HasPreferredFunctions(given) || stablehlo::HasCallModules(given)) {
    expanded = given;
    CallPreferredFunctions(&*expanded);
    stablehlo::ExpandCallModules(&*expanded);
  }
  const tensorflow::GraphDef& graph = expanded ? *expanded : given;
  GraphCensus census;
  const Functions functions = CalledFunctions(graph);
  auto count = [&](const tensorflow::NodeDef& node, const std::string& name) {
    if (functions.count(node.op()) > 0) return;
    OpUse& use = census.ops[node.op()];
    use.nodes.push_back(name);
    bool has_gpu_kernel = true;
    const absl::Status found = FindKernel(node, &use, &has_gpu_kernel);
    if (found.ok() && has_gpus && !has_gpu_kernel) use.without_gpu_kernel.push_back(name);
    if (found.ok()) return;
    use.without_kernel.push_back(name);
    if (use.detail.empty()) use.detail = std::string(found.message());
  };
  census.num_nodes = graph.node_size();
  for (const tensorflow::NodeDef& node : graph.node()) count(node, node.name());
  census.num_functions = static_cast<int>(functions.size());
  for (const auto& [function_name, function] : functions) {
    census.num_function_nodes += function->node_def_size();
    for (const tensorflow::NodeDef& node : function->node_def()) {
      count(node, absl::StrCat(function_name, "/", node.name()));
    }
  }
  return census;
}

}  // namespace tessera

#include "runtime/session/graph_census.h"

#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/framework/device_name.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/framework/op.h"
#include "runtime/graph/attr_value_proto.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// Whether a kernel runs this node. The message of an error is empty if the op has no kernel at all.
absl::Status FindKernel(const tensorflow::NodeDef& node) {
  const KernelRegistry& kernels = KernelRegistry::Global();
  if (!kernels.HasKernel(node.op())) return absl::NotFoundError("");
  const OpDef* const op = OpRegistry::Global().Find(node.op());
  if (op == nullptr) {
    return absl::NotFoundError(absl::StrCat("op ", node.op(), " has a kernel but no declaration"));
  }
  ASSIGN_OR_RETURN(AttrMap attrs, AttrMapFromProto(node.attr()));
  RETURN_IF_ERROR(CompleteAttrs(*op, &attrs));
  const bool depends_on_caller = std::any_of(
      attrs.begin(), attrs.end(), [](const auto& attr) { return attr.second.is_placeholder(); });
  if (depends_on_caller) return absl::OkStatus();
  return kernels.Find(node.op(), kCpu, attrs).status();
}

}  // namespace

GraphCensus TakeCensus(const tensorflow::GraphDef& graph) {
  GraphCensus census;
  std::set<std::string> functions;
  for (const auto& function : graph.library().function()) {
    functions.insert(function.signature().name());
  }
  auto count = [&](const tensorflow::NodeDef& node, const std::string& name) {
    if (functions.count(node.op()) > 0) return;
    OpUse& use = census.ops[node.op()];
    use.nodes.push_back(name);
    const absl::Status found = FindKernel(node);
    if (found.ok()) return;
    use.without_kernel.push_back(name);
    if (use.detail.empty()) use.detail = std::string(found.message());
  };
  census.num_nodes = graph.node_size();
  for (const tensorflow::NodeDef& node : graph.node()) count(node, node.name());
  census.num_functions = graph.library().function_size();
  for (const auto& function : graph.library().function()) {
    census.num_function_nodes += function.node_def_size();
    for (const tensorflow::NodeDef& node : function.node_def()) {
      count(node, absl::StrCat(function.signature().name(), "/", node.name()));
    }
  }
  return census;
}

}  // namespace tessera

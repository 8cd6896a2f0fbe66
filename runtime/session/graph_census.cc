#include "runtime/session/graph_census.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {

GraphCensus TakeCensus(const tensorflow::GraphDef& graph) {
  GraphCensus census;
  std::set<std::string> functions;
  for (const auto& function : graph.library().function()) {
    functions.insert(function.signature().name());
  }
  auto count = [&](const tensorflow::NodeDef& node, const std::string& name) {
    if (functions.count(node.op()) > 0) return;
    OpUse& use = census.ops[node.op()];
    if (use.nodes.empty()) use.has_kernel = KernelRegistry::Global().HasKernel(node.op());
    use.nodes.push_back(name);
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

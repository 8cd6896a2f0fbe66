// Any bytes as a GraphDef: importing fails with a status or gives a graph that can be exported and
// imported again, whose functions can be built or refused, and that can be pruned and rewritten.
#include <cstddef>
#include <cstdint>

#include "runtime/base/logging.h"
#include "runtime/device/cpu/cpu_device.h"
#include "runtime/graph/function.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/graph_export.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/prune.h"
#include "runtime/optimize/optimize.h"
#include "runtime/optimize/standard_passes.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

void CheckRoundTrip(const Graph& graph, const GraphImportOptions& options) {
  tensorflow::GraphDef exported;
  ExportGraph(graph, &exported);
  const auto again = ImportGraph(exported, options);
  CHECK(again.ok()) << again.status();
  CHECK((*again)->num_nodes() == graph.num_nodes());
}

void BuildFunctions(const Graph& graph) {
  if (graph.library() == nullptr) return;
  for (const std::string& name : graph.library()->Names()) {
    graph.library()->HasSideEffect(name);
    const auto body = graph.library()->Instantiate(FunctionRef{name, {}});
    if (body.ok()) CHECK(body->args.size() == body->arg_types.size());
  }
}

// Rewrites what one fetch needs. There are no kernels here, so nothing is computed.
void Rewrite(const Graph& graph, Device& device) {
  RunSignature signature;
  for (const Node* node : graph.nodes()) {
    if (node->num_outputs() > 0) {
      signature.fetches.push_back(node->name());
    } else {
      signature.targets.push_back(node->name());
    }
  }
  auto pruned = Prune(graph, signature);
  if (!pruned.ok()) return;
  OptimizationItem item;
  item.graph = pruned->graph.get();
  item.preserved = pruned->results;
  item.preserved.insert(item.preserved.end(), pruned->targets.begin(), pruned->targets.end());
  item.devices = {&device};
  // Optimize() only warns of a pass that fails, which would hide it here.
  for (const auto& pass : StandardPasses()) {
    bool changed = false;
    const absl::Status status = pass->Run(item, &changed);
    CHECK(status.ok()) << pass->name() << ": " << status;
    RemoveAllBut(item.graph, item.preserved);
  }
  CHECK(Optimize(item, {}).ok());
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static tessera::CpuDevice device(
      *tessera::DeviceName::Parse("/job:a/replica:0/task:0/device:CPU:0"));
  tensorflow::GraphDef graph_def;
  if (!graph_def.ParseFromArray(data, static_cast<int>(size))) return 0;
  for (const bool allow_unknown_ops : {false, true}) {
    const tessera::GraphImportOptions options = {.allow_unknown_ops = allow_unknown_ops};
    const auto graph = tessera::ImportGraph(graph_def, options);
    if (!graph.ok()) continue;
    tessera::CheckRoundTrip(**graph, options);
    tessera::BuildFunctions(**graph);
    tessera::Rewrite(**graph, device);
  }
  return 0;
}

// Any bytes as a GraphDef: importing fails with a status or gives a graph that can be exported and
// imported again, whose functions can be built or refused, and that can be pruned and rewritten.
#include <cstddef>
#include <cstdint>

#include "google/protobuf/stubs/logging.h"
#include "runtime/base/logging.h"
#include "runtime/graph/function.h"
#include "runtime/graph/graph_export.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/prune.h"
#include "runtime/optimize/pass.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// Of one constant: more is a matter of memory, not of import.
constexpr int64_t kMaxElements = 1 << 16;

bool IsSmall(const tensorflow::TensorProto& tensor) {
  int64_t elements = 1;
  for (const auto& dim : tensor.tensor_shape().dim()) {
    if (dim.size() > kMaxElements) return false;
    elements *= dim.size() < 1 ? 1 : dim.size();
    if (elements > kMaxElements) return false;
  }
  return true;
}

bool IsSmall(const tensorflow::AttrValue& value) {
  if (!IsSmall(value.tensor())) return false;
  for (const auto& tensor : value.list().tensor()) {
    if (!IsSmall(tensor)) return false;
  }
  for (const auto& [name, nested] : value.func().attr()) {
    if (!IsSmall(nested)) return false;
  }
  for (const auto& function : value.list().func()) {
    for (const auto& [name, nested] : function.attr()) {
      if (!IsSmall(nested)) return false;
    }
  }
  return true;
}

template <typename Nodes>
bool AreSmall(const Nodes& nodes) {
  for (const tensorflow::NodeDef& node : nodes) {
    for (const auto& [name, value] : node.attr()) {
      if (!IsSmall(value)) return false;
    }
  }
  return true;
}

bool IsSmall(const tensorflow::GraphDef& graph_def) {
  for (const auto& function : graph_def.library().function()) {
    if (!AreSmall(function.node_def())) return false;
    for (const auto& [name, value] : function.attr()) {
      if (!IsSmall(value)) return false;
    }
    for (const auto& attr : function.signature().attr()) {
      if (!IsSmall(attr.default_value()) || !IsSmall(attr.allowed_values())) return false;
    }
  }
  return AreSmall(graph_def.node());
}

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
  item.device = &device;
  const absl::Status status = Optimize(item, {});
  CHECK(status.ok()) << status;
}

}  // namespace
}  // namespace tessera

// Texts that are no UTF-8 would fill the log.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static tessera::Device device(*tessera::DeviceName::Parse("/job:a/replica:0/task:0/device:CPU:0"),
                                tessera::HeapAllocator());
  tensorflow::GraphDef graph_def;
  if (!graph_def.ParseFromArray(data, static_cast<int>(size))) return 0;
  if (!tessera::IsSmall(graph_def)) return 0;
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

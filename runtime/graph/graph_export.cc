#include "runtime/graph/graph_export.h"

#include "absl/strings/str_cat.h"
#include "runtime/graph/function.h"
#include "runtime/graph/unknown_ops.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// A stand-in is written as the node it stands for.
void ExportStandIn(const Node& node, tensorflow::NodeDef* proto) {
  AttrMap attrs = node.attrs();
  if (auto op = node.attr<std::string>("_op"); op.ok()) proto->set_op(*op);
  for (const char* own : {"_op", "_inputs", "_outputs"}) attrs.erase(own);
  AttrMapToProto(attrs, proto->mutable_attr());
}

void ExportNode(const Node& node, tensorflow::NodeDef* proto) {
  proto->set_name(node.name());
  proto->set_device(node.device());
  proto->set_op(node.op_name());
  if (node.IsOp(kUnsupportedOp)) {
    ExportStandIn(node, proto);
  } else {
    AttrMapToProto(node.attrs(), proto->mutable_attr());
  }
  for (const Endpoint& input : node.inputs()) {
    if (input.node != nullptr) proto->add_input(TensorName(input));
  }
  for (const Node* control : node.control_inputs()) {
    proto->add_input(absl::StrCat("^", control->name()));
  }
}

}  // namespace

void ExportGraph(const Graph& graph, tensorflow::GraphDef* graph_def) {
  graph_def->Clear();
  for (int id = 0; id < graph.id_bound(); ++id) {
    if (graph.node(id) != nullptr) ExportNode(*graph.node(id), graph_def->add_node());
  }
  if (graph.library() != nullptr) graph.library()->Export(graph_def->mutable_library());
  tensorflow::VersionDef* versions = graph_def->mutable_versions();
  versions->set_producer(graph.versions().producer);
  versions->set_min_consumer(graph.versions().min_consumer);
  for (int version : graph.versions().bad_consumers) versions->add_bad_consumers(version);
}

}  // namespace tessera

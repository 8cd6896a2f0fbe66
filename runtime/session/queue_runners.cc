#include "runtime/session/queue_runners.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/session/saved_model_graph.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/queue_runner.pb.h"

namespace tessera {
namespace {

constexpr char kCollection[] = "queue_runners";

absl::StatusOr<QueueRunner> FromProto(const tensorflow::QueueRunnerDef& def, const Graph& graph) {
  QueueRunner runner;
  const auto node_of = [&graph](const std::string& name) -> absl::StatusOr<std::string> {
    const Node* const node = graph.FindNode(NodeOf(name));
    if (node != nullptr) return node->name();
    return absl::InvalidArgumentError(absl::StrCat("the collection '", kCollection, "' names '",
                                                   name, "', which the graph does not have"));
  };
  ASSIGN_OR_RETURN(runner.queue, node_of(def.queue_name()));
  for (const std::string& name : def.enqueue_op_name()) {
    ASSIGN_OR_RETURN(std::string enqueue, node_of(name));
    runner.enqueue.push_back(std::move(enqueue));
  }
  ASSIGN_OR_RETURN(runner.close, node_of(def.close_op_name()));
  ASSIGN_OR_RETURN(runner.cancel, node_of(def.cancel_op_name()));
  for (const int code : def.queue_closed_exception_types()) {
    runner.end_codes.push_back(static_cast<absl::StatusCode>(code));
  }
  if (runner.end_codes.empty()) runner.end_codes.push_back(absl::StatusCode::kOutOfRange);
  return runner;
}

}  // namespace

absl::StatusOr<std::vector<QueueRunner>> QueueRunnersOf(const tensorflow::MetaGraphDef& meta_graph,
                                                        const Graph& graph) {
  std::vector<QueueRunner> runners;
  const auto it = meta_graph.collection_def().find(kCollection);
  if (it == meta_graph.collection_def().end()) return runners;
  for (const std::string& bytes : it->second.bytes_list().value()) {
    tensorflow::QueueRunnerDef def;
    if (!def.ParseFromString(bytes)) {
      return absl::DataLossError(absl::StrCat("the collection '", kCollection, "' is damaged"));
    }
    ASSIGN_OR_RETURN(QueueRunner runner, FromProto(def, graph));
    runners.push_back(std::move(runner));
  }
  return runners;
}

}  // namespace tessera

// Graphs of TF1 with a train op, whose collections tell what is what.
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_import.h"
#include "runtime/session/queue_runners.h"
#include "runtime/session/saved_model_graph.h"
#include "runtime/training/program/graph_program.h"
#include "runtime/training/program/precision.h"
#include "runtime/training/program/program_sources.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera {
namespace {

// Finds the loss: by the spec, by the collection of losses if that has one, or by its usual name.
absl::StatusOr<std::string> FindLoss(const training::GraphSpec& spec, const Graph& graph,
                                     const tensorflow::MetaGraphDef& meta_graph) {
  std::string name = spec.loss_tensor();
  const std::vector<std::string> losses = NamesInCollection(meta_graph, "losses");
  if (name.empty() && losses.size() == 1) name = losses.front();
  if (name.empty() && graph.FindNode("loss") != nullptr) name = "loss";
  if (name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the graph does not tell its loss (its collection 'losses' has ",
                     losses.size(), " tensors); name the tensor by graph.loss_tensor"));
  }
  ASSIGN_OR_RETURN(const Endpoint loss, FindTensor(spec, graph, name, "graph.loss_tensor"));
  return TensorName(loss);
}

// Finds the op that initialises all variables: by the spec, by its collection, or by its usual
// name. Without any, each variable has its own.
absl::StatusOr<std::vector<std::string>> FindInit(const training::GraphSpec& spec,
                                                  const Graph& graph,
                                                  const tensorflow::MetaGraphDef& meta_graph) {
  if (!spec.init_op().empty()) return FindInitOp(spec, graph);
  std::vector<std::string> init;
  for (const char* collection : {"init_op", "local_init_op"}) {
    for (const std::string& name : NamesInCollection(meta_graph, collection)) {
      init.push_back(NodeOf(name));
    }
  }
  if (!init.empty()) return init;
  if (graph.FindNode("init") != nullptr) return std::vector<std::string>{"init"};
  return init;
}

}  // namespace

absl::StatusOr<TrainingProgram> MakeMetaGraphProgram(const training::GraphSpec& spec,
                                                     const ProgramOptions& options,
                                                     const tensorflow::MetaGraphDef& meta_graph) {
  RETURN_IF_ERROR(RefuseKeys(
      spec, {"loss", "schedule", "clip", "trainable", "recompute", "signatures"},
      "the graph has a train op of its own, in whose place graph.optimizer adds another"));
  RETURN_IF_ERROR(CheckOwnGradients(options, "this one has its own train op"));
  TrainingProgram program;
  TrainedGraph trained;
  ASSIGN_OR_RETURN(trained.graph, ImportGraph(meta_graph.graph_def(), {.allow_unknown_ops = true}));
  const Graph& graph = *trained.graph;
  ASSIGN_OR_RETURN(trained.trainable, VariablesInCollection(meta_graph, "trainable_variables"));
  trained.restore_node = NodeOf(meta_graph.saver_def().restore_op_name());
  ASSIGN_OR_RETURN(trained.saved, SavedVariables(meta_graph));
  program.graph = graph.Clone();

  ASSIGN_OR_RETURN(const std::vector<std::string> train_ops, FindTrainOps(spec, meta_graph));
  for (const std::string& name : train_ops) {
    ASSIGN_OR_RETURN(const Node* const node, FindNode(graph, name, "graph.train_op"));
    program.train.push_back(node->name());
  }
  ASSIGN_OR_RETURN(program.loss, FindLoss(spec, graph, meta_graph));
  program.eval_loss = program.loss;
  ASSIGN_OR_RETURN(program.init, FindInit(spec, graph, meta_graph));
  ASSIGN_OR_RETURN(program.queue_runners, QueueRunnersOf(meta_graph, graph));
  RETURN_IF_ERROR(CompleteGraphProgram(spec, options, std::move(trained), &program));
  return program;
}

}  // namespace tessera

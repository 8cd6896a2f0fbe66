// Common parts of programs from graphs of TF1: names of collections and tensors, what feeds the
// placeholders, and the variables.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/training/program/training_program.h"

namespace tensorflow {
class MetaGraphDef;
}  // namespace tensorflow

namespace tessera {

// Returns the names in a collection of nodes or tensors; empty if there is none.
std::vector<std::string> NamesInCollection(const tensorflow::MetaGraphDef& meta_graph,
                                           const std::string& collection);

// Returns the names of the nodes of the variables in a collection, such as "trainable_variables".
// Errors: DATA_LOSS for a damaged one.
absl::StatusOr<std::set<std::string>> VariablesInCollection(
    const tensorflow::MetaGraphDef& meta_graph, const std::string& collection);

// Returns the names of the nodes that train: the spec's, or all of the collection "train_op", where
// each part of a step may stand. Empty if the graph has none, or if the spec says an optimizer, so
// that one is to be added. Errors: INVALID_ARGUMENT if the spec says both.
absl::StatusOr<std::vector<std::string>> FindTrainOps(const training::GraphSpec& spec,
                                                      const tensorflow::MetaGraphDef& meta_graph);

// Finds a tensor by its name, or by its name in graph.outputs.
// Errors: INVALID_ARGUMENT, which says what names it and the nearest name.
absl::StatusOr<Endpoint> FindTensor(const training::GraphSpec& spec, const Graph& graph,
                                    const std::string& name, const std::string& what);

// Finds a node. Errors as those of FindTensor().
absl::StatusOr<Node*> FindNode(const Graph& graph, const std::string& name,
                               const std::string& what);

// Returns the target that the spec's `init_op` names. Errors: those of FindNode(); INVALID_ARGUMENT
// for a node whose run changes nothing.
absl::StatusOr<std::vector<std::string>> FindInitOp(const training::GraphSpec& spec,
                                                    const Graph& graph);

// Errors: INVALID_ARGUMENT for keys of the spec that are set, though nothing reads them with a
// graph like this one; `why` completes "graph.KEY has no effect: ".
absl::Status RefuseKeys(const training::GraphSpec& spec, absl::Span<const char* const> keys,
                        absl::string_view why);

// Returns the field of a batch that feeds a placeholder.
std::string FieldOf(const training::GraphSpec& spec, const Node& placeholder);

// The place of a partition in its whole variable; empty for a variable that is whole.
struct SavedPart {
  std::string whole_key;
  std::string slice;  // its place, as RestoreV2 has it
};

// Returns the variables of the collection "variables", by the names of their nodes, as a Saver of
// TensorFlow would save them. Errors: DATA_LOSS.
absl::StatusOr<std::map<std::string, SavedPart>> SavedVariables(
    const tensorflow::MetaGraphDef& meta_graph);

// The variables of a graph, by node, and what is known of them.
struct TrainedGraph {
  std::unique_ptr<Graph> graph;
  std::set<std::string> trainable;  // names of nodes
  std::string restore_node;         // of the graph's saver; empty if it has none
  // The variables that checkpoints have in any case, by the names of nodes, where the graph has no
  // saver that tells.
  std::map<std::string, SavedPart> saved;
};

// Completes a program whose train, loss, eval_loss and learning_rate are set: the inputs that its
// runs need, the outputs, the variables that they reach, and the session. Without `init`, each of
// the variables is initialised by its own node. Errors: those of FindInitializer(), too.
absl::Status CompleteGraphProgram(const training::GraphSpec& spec, const ProgramOptions& options,
                                  TrainedGraph trained, TrainingProgram* program);

}  // namespace tessera

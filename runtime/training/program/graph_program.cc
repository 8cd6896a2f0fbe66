#include "runtime/training/program/graph_program.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/status.h"
#include "runtime/graph/prune.h"
#include "runtime/graph/resource_names.h"
#include "runtime/graph/side_effects.h"
#include "runtime/session/restored_variables.h"
#include "runtime/session/saved_model_graph.h"
#include "runtime/training/program/fixed_values.h"
#include "runtime/training/program/program_iterators.h"
#include "runtime/training/program/program_state.h"
#include "runtime/training/program/training_variables.h"
#include "tensorflow/core/framework/variable.pb.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera {
namespace {

using training::GraphSpec;

bool IsPlaceholder(const Node& node) {
  return node.IsOp("Placeholder") || node.IsOp("PlaceholderV2") ||
         node.IsOp("PlaceholderWithDefault");
}

// Errors: INVALID_ARGUMENT for an entry of graph.inputs, graph.train_values or graph.eval_values
// that is no placeholder.
absl::Status CheckInputNames(const GraphSpec& spec, const Graph& graph) {
  std::vector<std::string> known;
  for (const Node* node : graph.nodes()) {
    if (IsPlaceholder(*node)) known.push_back(node->name());
  }
  for (const auto& [block, names] :
       {std::pair("inputs", &spec.inputs()), std::pair("train_values", &spec.train_values()),
        std::pair("eval_values", &spec.eval_values())}) {
    for (const auto& [name, _] : *names) {
      const std::string node = NodeOf(name);
      if (std::find(known.begin(), known.end(), node) != known.end()) continue;
      return absl::InvalidArgumentError(absl::StrCat("graph.", block, " names '", name,
                                                     "', which is no placeholder of the graph",
                                                     DidYouMean(node, known)));
    }
  }
  return absl::OkStatus();
}

// Returns which fields feed the placeholders that a run needs, and appends to `constants` what
// feeds those with a value. Those with a default value are fed only if the spec names them.
absl::StatusOr<std::vector<BatchInput>> InputsOf(const GraphSpec& spec, const FixedValues& values,
                                                 const Graph& graph, const RunSignature& run,
                                                 std::vector<NamedTensor>* constants) {
  ASSIGN_OR_RETURN(const PrunedGraph pruned, Prune(graph, run));
  std::vector<BatchInput> inputs;
  for (const Node* node : pruned.graph->nodes()) {
    if (!IsPlaceholder(*node)) continue;
    const bool is_named = spec.inputs().contains(node->name()) ||
                          spec.inputs().contains(absl::StrCat(node->name(), ":0"));
    BatchInput input{FieldOf(spec, *node), absl::StrCat(node->name(), ":0"),
                     RemoveRef(node->output_type(0)),
                     node->attr<PartialShape>("shape").value_or(PartialShape())};
    ASSIGN_OR_RETURN(const bool has_value, values.Take(node->name(), input, constants));
    if (has_value || (node->IsOp("PlaceholderWithDefault") && !is_named)) continue;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// Returns what the graph's saver restores by the variables' resources. A saver that does more than
// the variables need has keys of no use here.
std::map<std::string, RestoredVariable> SaverKeys(const Graph& graph,
                                                  const std::string& restore_node) {
  std::map<std::string, RestoredVariable> keys;
  if (restore_node.empty()) return keys;
  const auto restored = FindRestoredVariables(graph, restore_node);
  if (!restored.ok()) return keys;
  for (const RestoredVariable& variable : *restored) keys[variable.resource] = variable;
  return keys;
}

// The nodes of all variables that a run reaches, by name.
absl::StatusOr<std::set<std::string>> VariablesOf(const Graph& graph, const RunSignature& run) {
  ASSIGN_OR_RETURN(const PrunedGraph pruned, Prune(graph, run));
  std::set<std::string> names;
  for (const Node* node : pruned.graph->nodes()) {
    if (IsVariable(*node)) names.insert(node->name());
  }
  return names;
}

// Has the variables that only queue runners reach initialised, such as the number of epochs that
// were read. Checkpoints do not have them: the data begin anew when a run goes on.
absl::Status InitQueueVariables(const Graph& graph, const RunSignature& run,
                                TrainingProgram* program) {
  if (program->queue_runners.empty()) return absl::OkStatus();
  RunSignature fill;
  for (const QueueRunner& runner : program->queue_runners) {
    fill.targets.insert(fill.targets.end(), runner.enqueue.begin(), runner.enqueue.end());
  }
  ASSIGN_OR_RETURN(const std::set<std::string> trained, VariablesOf(graph, run));
  ASSIGN_OR_RETURN(const std::set<std::string> names, VariablesOf(graph, fill));
  for (const std::string& name : names) {
    if (trained.contains(name)) continue;
    ASSIGN_OR_RETURN(const Node* const initializer, FindInitializer(graph, *graph.FindNode(name)));
    program->init.push_back(initializer->name());
  }
  return absl::OkStatus();
}

// Appends the variables that a saver of TensorFlow would keep although no run of the program
// reaches them: those of the graph's saver, or of `trained.saved` that get a first value.
absl::Status AddSaved(const TrainedGraph& trained,
                      const std::map<std::string, RestoredVariable>& keys,
                      const std::vector<std::string>& init, std::set<std::string>* names) {
  ASSIGN_OR_RETURN(const std::set<std::string> initialized,
                   VariablesOf(*trained.graph, {.targets = init}));
  for (const Node* node : trained.graph->nodes()) {
    if (!IsVariable(*node)) continue;
    const bool is_saved = keys.empty()
                              ? trained.saved.contains(node->name()) &&
                                    (init.empty() ? FindInitializer(*trained.graph, *node).ok()
                                                  : initialized.contains(node->name()))
                              : keys.contains(ResourceNames(*node).front());
    if (is_saved) names->insert(node->name());
  }
  return absl::OkStatus();
}

// The variables of a collection. Errors: DATA_LOSS.
absl::StatusOr<std::vector<tensorflow::VariableDef>> ReadCollection(
    const tensorflow::MetaGraphDef& meta_graph, const std::string& collection) {
  std::vector<tensorflow::VariableDef> variables;
  const auto found = meta_graph.collection_def().find(collection);
  if (found == meta_graph.collection_def().end()) return variables;
  for (const std::string& bytes : found->second.bytes_list().value()) {
    if (!variables.emplace_back().ParseFromString(bytes)) {
      return absl::DataLossError(absl::StrCat("the collection '", collection, "' is damaged"));
    }
  }
  return variables;
}

absl::Status AddVariables(const TrainedGraph& trained, const RunSignature& run,
                          TrainingProgram* program) {
  const auto keys = SaverKeys(*trained.graph, trained.restore_node);
  ASSIGN_OR_RETURN(std::set<std::string> names, VariablesOf(*trained.graph, run));
  RETURN_IF_ERROR(AddSaved(trained, keys, program->init, &names));
  const bool needs_init = program->init.empty();
  std::set<std::string> seen;  // two nodes may stand for one variable
  for (const std::string& name : names) {
    Node* const node = trained.graph->FindNode(name);
    const std::string resource = ResourceNames(*node).front();
    if (!seen.insert(resource).second) continue;
    if (needs_init) {
      ASSIGN_OR_RETURN(const Node* const initializer, FindInitializer(*trained.graph, *node));
      program->init.push_back(initializer->name());
    }
    ASSIGN_OR_RETURN(StateVariable state, AddStateVariable(trained.graph.get(), node));
    if (auto saved = keys.find(resource); saved != keys.end()) {
      const bool is_whole = saved->second.shape_and_slice.empty();
      (is_whole ? state.key : state.whole_key) = saved->second.key;
      state.slice = saved->second.shape_and_slice;
    } else if (auto part = trained.saved.find(name); keys.empty() && part != trained.saved.end()) {
      state.whole_key = part->second.whole_key;
      state.slice = part->second.slice;
    }
    state.trainable = trained.trainable.contains(name);
    if (name == "global_step") program->global_step = state.read;
    program->variables.push_back(std::move(state));
  }
  std::sort(program->variables.begin(), program->variables.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> NamesInCollection(const tensorflow::MetaGraphDef& meta_graph,
                                           const std::string& collection) {
  auto it = meta_graph.collection_def().find(collection);
  if (it == meta_graph.collection_def().end()) return {};
  const auto& names = it->second.node_list().value();
  return {names.begin(), names.end()};
}

absl::StatusOr<std::set<std::string>> VariablesInCollection(
    const tensorflow::MetaGraphDef& meta_graph, const std::string& collection) {
  std::set<std::string> names;
  ASSIGN_OR_RETURN(const auto variables, ReadCollection(meta_graph, collection));
  for (const auto& variable : variables) names.insert(NodeOf(variable.variable_name()));
  return names;
}

absl::StatusOr<std::map<std::string, SavedPart>> SavedVariables(
    const tensorflow::MetaGraphDef& meta_graph) {
  std::map<std::string, SavedPart> parts;
  ASSIGN_OR_RETURN(const auto variables, ReadCollection(meta_graph, "variables"));
  for (const auto& variable : variables) {
    SavedPart& part = parts[NodeOf(variable.variable_name())];
    const auto& info = variable.save_slice_info_def();
    if (info.full_name().empty() || info.var_offset_size() != info.var_shape_size()) continue;
    std::vector<std::string> extents;
    for (int i = 0; i < info.var_shape_size(); ++i) {
      extents.push_back(absl::StrCat(info.var_offset(i), ",", info.var_shape(i)));
    }
    part.whole_key = info.full_name();
    part.slice =
        absl::StrCat(absl::StrJoin(info.full_shape(), " "), " ", absl::StrJoin(extents, ":"));
  }
  return parts;
}

absl::StatusOr<std::vector<std::string>> FindTrainOps(const GraphSpec& spec,
                                                      const tensorflow::MetaGraphDef& meta_graph) {
  if (spec.has_optimizer()) {
    if (spec.train_op().empty()) return std::vector<std::string>();
    return absl::InvalidArgumentError(
        "graph.train_op names an optimizer that is in the graph, and graph.optimizer adds one: "
        "remove either");
  }
  if (!spec.train_op().empty()) return std::vector<std::string>{spec.train_op()};
  return NamesInCollection(meta_graph, "train_op");
}

absl::StatusOr<Node*> FindNode(const Graph& graph, const std::string& name,
                               const std::string& what) {
  if (Node* const node = graph.FindNode(NodeOf(name)); node != nullptr) return node;
  std::vector<std::string> known;
  for (const Node* node : graph.nodes()) known.push_back(node->name());
  return absl::InvalidArgumentError(absl::StrCat(
      what, " is '", name, "', which the graph does not have", DidYouMean(NodeOf(name), known)));
}

absl::StatusOr<std::vector<std::string>> FindInitOp(const GraphSpec& spec, const Graph& graph) {
  ASSIGN_OR_RETURN(const Node* const init, FindNode(graph, spec.init_op(), "graph.init_op"));
  ASSIGN_OR_RETURN(const PrunedGraph pruned, Prune(graph, {.targets = {init->name()}}));
  const std::vector<Node*> reached = pruned.graph->nodes();
  if (std::any_of(reached.begin(), reached.end(),
                  [&](const Node* node) { return HasSideEffect(*node, graph.library().get()); })) {
    return std::vector<std::string>{init->name()};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("graph.init_op is '", init->name(), "' (op ", init->op_name(),
                   "), which initialises nothing; name the op that gives the variables their first "
                   "values, or none if each has its own"));
}

absl::StatusOr<Endpoint> FindTensor(const GraphSpec& spec, const Graph& graph,
                                    const std::string& name, const std::string& what) {
  auto output = spec.outputs().find(name);
  const std::string& tensor = output == spec.outputs().end() ? name : output->second;
  RETURN_IF_ERROR(FindNode(graph, tensor, what).status());
  absl::StatusOr<Endpoint> endpoint = graph.FindEndpoint(tensor);
  if (endpoint.ok()) return endpoint;
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is '", name, "': ", endpoint.status().message()));
}

absl::Status RefuseKeys(const GraphSpec& spec, absl::Span<const char* const> keys,
                        absl::string_view why) {
  const google::protobuf::Reflection& reflection = *spec.GetReflection();
  for (const char* key : keys) {
    const auto* const field = spec.GetDescriptor()->FindFieldByName(key);
    const bool is_set = field->is_repeated() ? reflection.FieldSize(spec, field) > 0
                                             : reflection.HasField(spec, field);
    if (is_set) {
      return absl::InvalidArgumentError(
          absl::StrCat("graph.", key, " has no effect: ", why, "; remove it"));
    }
  }
  return absl::OkStatus();
}

std::string FieldOf(const GraphSpec& spec, const Node& placeholder) {
  for (const std::string& name : {placeholder.name(), absl::StrCat(placeholder.name(), ":0")}) {
    auto it = spec.inputs().find(name);
    if (it != spec.inputs().end()) return it->second;
  }
  return placeholder.name();
}

absl::Status CompleteGraphProgram(const GraphSpec& spec, const ProgramOptions& options,
                                  TrainedGraph trained, TrainingProgram* program) {
  const Graph& graph = *trained.graph;
  RETURN_IF_ERROR(CheckInputNames(spec, graph));
  for (const auto& [name, tensor] : spec.outputs()) {
    ASSIGN_OR_RETURN(const Endpoint endpoint,
                     FindTensor(spec, graph, tensor, absl::StrCat("graph.outputs.", name)));
    program->outputs[name] = TensorName(endpoint);
  }
  RunSignature step, evaluation;
  step.targets = program->train;
  if (!program->loss.empty()) step.fetches.push_back(program->loss);
  if (!program->eval_loss.empty()) evaluation.fetches.push_back(program->eval_loss);
  for (const auto& [name, tensor] : program->outputs) evaluation.fetches.push_back(tensor);
  const FixedValues train_values{spec.train_values(), "train_values"};
  const FixedValues eval_values{spec.eval_values(), "eval_values"};
  ASSIGN_OR_RETURN(program->inputs, InputsOf(spec, train_values, graph, step, &program->constants));
  ASSIGN_OR_RETURN(program->eval_inputs,
                   InputsOf(spec, eval_values, graph, evaluation, &program->eval_constants));
  if (!spec.eval_values().empty()) {
    std::unique_ptr<Graph> served = program->graph->Clone();
    RETURN_IF_ERROR(ReplacePlaceholders(eval_values, served.get()));
    program->graph = std::move(served);
  }

  RunSignature all = step;
  if (program->update.has_value()) {
    for (const auto* targets : {&program->update->apply, &program->update->skip}) {
      all.targets.insert(all.targets.end(), targets->begin(), targets->end());
    }
  }
  all.fetches.insert(all.fetches.end(), evaluation.fetches.begin(), evaluation.fetches.end());
  RETURN_IF_ERROR(AddVariables(trained, all, program));
  RETURN_IF_ERROR(InitQueueVariables(graph, all, program));
  RETURN_IF_ERROR(AddStateIterators(step, trained.graph.get(), program));
  ASSIGN_OR_RETURN(program->session, Session::Create(options.session, std::move(trained.graph)));
  return absl::OkStatus();
}

}  // namespace tessera

// SavedModels, which train by their signatures.
#include <algorithm>
#include <map>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/tensor_slice.h"
#include "runtime/graph/graph_export.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/prune.h"
#include "runtime/graph/resource_names.h"
#include "runtime/session/restored_variables.h"
#include "runtime/session/saved_model.h"
#include "runtime/training/program/fixed_values.h"
#include "runtime/training/program/graph_program.h"
#include "runtime/training/program/precision.h"
#include "runtime/training/program/program_iterators.h"
#include "runtime/training/program/program_sources.h"
#include "runtime/training/program/program_state.h"
#include "runtime/training/program/random_seeds.h"
#include "runtime/training/program/training_variables.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/trackable_object_graph.pb.h"

namespace tessera {
namespace {

using training::GraphSpec;

// The signatures that a job uses; null for one that the model lacks.
struct UsedSignatures {
  const Signature* init = nullptr;
  const Signature* train = nullptr;
  const Signature* loss = nullptr;
  const Signature* predict = nullptr;
};

// Finds a signature by the name that the job gives, or else by a default name, under which there
// need not be one.
absl::StatusOr<const Signature*> FindSignature(const SavedModelGraph& model,
                                               const std::string& name,
                                               const std::string& default_name) {
  auto it = model.signatures.find(name.empty() ? default_name : name);
  if (it != model.signatures.end()) return &it->second;
  if (name.empty()) return nullptr;
  std::vector<std::string> known;
  for (const auto& [key, signature] : model.signatures) known.push_back(key);
  return absl::InvalidArgumentError(
      absl::StrCat(model.directory, " has no signature '", name, "'", DidYouMean(name, known)));
}

absl::StatusOr<UsedSignatures> FindSignatures(const SavedModelGraph& model,
                                              const training::TrainingSignatures& names) {
  UsedSignatures used;
  ASSIGN_OR_RETURN(used.init, FindSignature(model, names.init(), "init"));
  ASSIGN_OR_RETURN(used.train, FindSignature(model, names.train(), "train_step"));
  ASSIGN_OR_RETURN(used.loss, FindSignature(model, names.loss(), "loss"));
  ASSIGN_OR_RETURN(used.predict, FindSignature(model, names.predict(), "predict"));
  if (used.train == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(model.directory, " has no signature 'train_step', so that it cannot be ",
                     "trained; name another one by graph.signatures.train"));
  }
  if (used.init != nullptr && !used.init->inputs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the signature that initialises ", model.directory, " takes inputs ('",
                     used.init->inputs.begin()->first, "'), but must take none"));
  }
  return used;
}

// The tensors that a run feeds: with fields of a batch, or with values.
class FedTensors {
 public:
  FedTensors(const GraphSpec& spec, const FixedValues& values, std::vector<BatchInput>* inputs,
             std::vector<NamedTensor>* constants)
      : spec_(spec), values_(values), inputs_(inputs), constants_(constants) {}

  // Adds the inputs of a signature, which may be null. Inputs may share a tensor.
  // Errors: INVALID_ARGUMENT for inputs that share a tensor but have two fields or values.
  absl::Status Add(const Signature* signature) {
    if (signature == nullptr) return absl::OkStatus();
    for (const auto& [alias, tensor] : signature->inputs) {
      if (signature->defaults.contains(alias)) continue;
      const auto field = spec_.inputs().find(alias);
      BatchInput input{field == spec_.inputs().end() ? alias : field->second, tensor.tensor_name,
                       tensor.dtype, tensor.shape};
      const auto value = values_.texts.find(alias);
      const std::string source = value == values_.texts.end()
                                     ? absl::StrCat("field '", input.field, "'")
                                     : absl::StrCat("value '", value->second, "'");
      // "x" is another name of "x:0".
      const auto [other, is_new] =
          sources_.emplace(absl::StripSuffix(tensor.tensor_name, ":0"), Source{alias, source});
      if (!is_new) {
        if (other->second.text == source) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("the signatures' inputs '", other->second.alias, "' and '", alias,
                         "' are one tensor, '", tensor.tensor_name,
                         "', which cannot be fed with the ", other->second.text, " and with the ",
                         source, "; give both the same by graph.inputs or graph.", values_.block));
      }
      ASSIGN_OR_RETURN(const bool has_value, values_.Take(alias, input, constants_));
      if (!has_value) inputs_->push_back(std::move(input));
    }
    return absl::OkStatus();
  }

 private:
  struct Source {
    std::string alias, text;
  };
  const GraphSpec& spec_;
  const FixedValues& values_;
  std::vector<BatchInput>* const inputs_;
  std::vector<NamedTensor>* const constants_;
  std::map<std::string, Source> sources_;  // by tensor, without ":0"
};

// Errors: INVALID_ARGUMENT for an entry of graph.inputs, graph.train_values or graph.eval_values
// that no signature has.
absl::Status CheckInputNames(const UsedSignatures& used, const GraphSpec& spec) {
  std::set<std::string> known;
  for (const Signature* signature : {used.train, used.loss, used.predict}) {
    if (signature == nullptr) continue;
    for (const auto& [alias, tensor] : signature->inputs) known.insert(alias);
  }
  for (const auto& [block, names] :
       {std::pair("inputs", &spec.inputs()), std::pair("train_values", &spec.train_values()),
        std::pair("eval_values", &spec.eval_values())}) {
    for (const auto& [alias, _] : *names) {
      if (known.contains(alias)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("graph.", block, " names '", alias, "', which no signature takes",
                       DidYouMean(alias, {known.begin(), known.end()})));
    }
  }
  return absl::OkStatus();
}

// Returns the output "loss" of a signature, or its only one; empty if there is none.
std::string LossOf(const Signature* signature) {
  if (signature == nullptr) return "";
  auto it = signature->outputs.find("loss");
  if (it == signature->outputs.end() && signature->outputs.size() == 1) {
    it = signature->outputs.begin();
  }
  return it == signature->outputs.end() ? "" : it->second.tensor_name;
}

std::vector<std::string> NodesOf(const Signature* signature) {
  std::set<std::string> nodes;
  if (signature != nullptr) {
    for (const auto& [alias, tensor] : signature->outputs) nodes.insert(NodeOf(tensor.tensor_name));
  }
  return {nodes.begin(), nodes.end()};
}

absl::Status AddOutputs(const SavedModelGraph& model, const Signature* predict,
                        const GraphSpec& spec, std::map<std::string, std::string>* outputs) {
  if (predict != nullptr) {
    for (const auto& [alias, tensor] : predict->outputs) (*outputs)[alias] = tensor.tensor_name;
  }
  const std::map<std::string, std::string> aliases = *outputs;
  for (const auto& [name, tensor] : spec.outputs()) {
    if (auto alias = aliases.find(tensor); alias != aliases.end()) {
      (*outputs)[name] = alias->second;
      continue;
    }
    if (!model.graph->FindEndpoint(tensor).ok()) {
      std::vector<std::string> known;
      for (const auto& [alias, of_alias] : aliases) known.push_back(alias);
      return absl::InvalidArgumentError(
          absl::StrCat("graph.outputs.", name, " is '", tensor,
                       "', which is neither an output of the signature for predictions nor a "
                       "tensor",
                       DidYouMean(tensor, known)));
    }
    (*outputs)[name] = tensor;
  }
  return absl::OkStatus();
}

// What the object graph of a SavedModel says of its variables.
struct TrackedVariables {
  std::set<std::string> trainable;                // keys
  std::map<std::string, std::string> full_names;  // by key
};

absl::StatusOr<TrackedVariables> ReadTrackedVariables(const SavedModelGraph& model) {
  tensorflow::TrackableObjectGraph objects;
  if (!objects.ParseFromString(model.object_graph)) {
    return absl::DataLossError(
        absl::StrCat("the object graph of ", model.directory, " is damaged"));
  }
  TrackedVariables tracked;
  const auto& saved = model.meta_graph->object_graph_def();
  for (int i = 0; i < objects.nodes_size(); ++i) {
    const bool trainable = i < saved.nodes_size() && saved.nodes(i).has_variable() &&
                           saved.nodes(i).variable().trainable();
    for (const auto& value : objects.nodes(i).attributes()) {
      tracked.full_names[value.checkpoint_key()] = value.full_name();
      if (trainable) tracked.trainable.insert(value.checkpoint_key());
    }
  }
  return tracked;
}

// Returns whether a variable is saved as a part of a larger tensor.
absl::StatusOr<bool> IsPart(const RestoredVariable& variable) {
  if (variable.shape_and_slice.empty()) return false;
  ASSIGN_OR_RETURN(const ShapeAndSlice part, ShapeAndSlice::Parse(variable.shape_and_slice));
  return part.slice.shape() != part.shape;
}

// Errors: UNIMPLEMENTED for a node that changes a table, whose contents no checkpoint of a run has.
absl::Status CheckKeepsTables(const Node& node) {
  for (const char* op : {"LookupTableInsertV2", "LookupTableRemoveV2", "LookupTableImportV2"}) {
    if (!node.IsOp(op)) continue;
    return absl::UnimplementedError(
        absl::StrCat("node '", node.name(), "' (", op,
                     ") of a signature that the job runs changes a "
                     "table, which checkpoints and exports would not have"));
  }
  return absl::OkStatus();
}

// Finds the variables of a SavedModel and adds the nodes of their states.
//
// The variables that the restore op assigns need not be those that the signatures use. Keras 3
// tracks each variable at two places; tf.saved_model.save() then writes the value of the
// signatures' variable under both keys, and restores the second one to a copy, or both to copies.
class ModelVariables {
 public:
  ModelVariables(const SavedModelGraph& model, Graph* graph, std::vector<StateVariable>* variables)
      : model_(model), graph_(graph), variables_(variables) {}

  absl::Status Add(const UsedSignatures& used) {
    for (Node* node : graph_->nodes()) {
      if (node->IsOp("VarHandleOp")) handles_.emplace(ResourceNames(*node).front(), node);
    }
    const std::string restore = NodeOf(model_.meta_graph->saver_def().restore_op_name());
    if (restore.empty() || handles_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(model_.directory, " has no variables, so that there is nothing to train"));
    }
    ASSIGN_OR_RETURN(tracked_, ReadTrackedVariables(model_));
    ASSIGN_OR_RETURN(const std::vector<RestoredVariable> restored,
                     FindRestoredVariables(*graph_, restore, /*but_tables=*/true));
    ASSIGN_OR_RETURN(const std::vector<CopiedVariable> copied, FindCopiedVariables(*graph_));
    for (const CopiedVariable& each : copied) originals_[each.copy.resource] = each.original;
    ASSIGN_OR_RETURN(const std::set<std::string> resources, ResourcesOf(used));

    std::vector<const RestoredVariable*> copies;
    for (const RestoredVariable& variable : restored) {
      ASSIGN_OR_RETURN(const bool is_part, IsPart(variable));
      if (is_part) {
        RETURN_IF_ERROR(AddPart(variable));
      } else if (resources.contains(variable.resource) || !originals_.contains(variable.resource)) {
        RETURN_IF_ERROR(AddKey(variable.resource, variable.key));
      } else {
        copies.push_back(&variable);
      }
    }
    for (const RestoredVariable* copy : copies) {
      const RestoredVariable& original = originals_.at(copy->resource);
      std::string resource = copy->resource;
      if (resources.contains(original.resource)) {
        resource = original.resource;
      } else if (auto same = by_full_name_.find(original.name);
                 same != by_full_name_.end() && AreAlike(same->second, copy->resource)) {
        resource = same->second;
      }
      RETURN_IF_ERROR(AddKey(resource, copy->key));
    }
    // Variables that the model does not save are known by their names.
    for (const std::string& resource : resources) {
      if (!indices_.contains(resource)) {
        RETURN_IF_ERROR(AddKey(resource, handles_.at(resource)->name()));
      }
    }
    return absl::OkStatus();
  }

  // Returns the keys by which the model's own signature "restore" reads checkpoints, by those of
  // the variables.
  std::map<std::string, std::string> OtherKeys() const {
    std::map<std::string, std::string> keys;
    auto signature = model_.signatures.find("restore");
    if (signature == model_.signatures.end()) return keys;
    const std::vector<std::string> nodes = NodesOf(&signature->second);
    if (nodes.empty()) return keys;
    // A function that does more than restoring is of no use here.
    const auto restored = FindRestoredVariables(*graph_, nodes.front(), /*but_tables=*/true);
    if (!restored.ok()) return keys;
    for (const RestoredVariable& variable : *restored) {
      auto index = indices_.find(variable.resource);
      if (index != indices_.end()) keys[(*variables_)[index->second].key] = variable.key;
    }
    return keys;
  }

 private:
  // Returns the variables that runs of the signatures reach.
  absl::StatusOr<std::set<std::string>> ResourcesOf(const UsedSignatures& used) {
    std::set<std::string> resources;
    for (const Signature* signature : {used.init, used.train, used.loss, used.predict}) {
      if (signature == nullptr) continue;
      ASSIGN_OR_RETURN(const PrunedGraph pruned, Prune(*graph_, signature->Run()));
      for (const Node* node : pruned.graph->nodes()) {
        RETURN_IF_ERROR(CheckKeepsTables(*node));
        if (node->IsOp("VarHandleOp")) resources.insert(ResourceNames(*node).front());
      }
    }
    return resources;
  }

  // Whether a variable can have the values of another one. False for an empty resource.
  bool AreAlike(const std::string& resource, const std::string& other) const {
    const auto a = handles_.find(resource), b = handles_.find(other);
    if (a == handles_.end() || b == handles_.end()) return false;
    return VariableDType(*a->second) == VariableDType(*b->second) &&
           VariableShape(*a->second) == VariableShape(*b->second);
  }

  // Adds a part of a partitioned variable, whose own key is its name.
  absl::Status AddPart(const RestoredVariable& part) {
    RETURN_IF_ERROR(AddKey(part.resource, part.name));
    const auto index = indices_.find(part.resource);
    if (index == indices_.end()) return absl::OkStatus();
    StateVariable& state = (*variables_)[index->second];
    state.whole_key = part.key;
    state.slice = part.shape_and_slice;
    return absl::OkStatus();
  }

  // Gives a variable a key, the first of which is its own.
  absl::Status AddKey(const std::string& resource, const std::string& key) {
    auto handle = handles_.find(resource);
    if (handle == handles_.end()) return absl::OkStatus();  // it is made in a function
    const auto [index, is_new] = indices_.emplace(resource, variables_->size());
    if (is_new) {
      ASSIGN_OR_RETURN(StateVariable state, AddStateVariable(graph_, handle->second));
      state.key = key;
      variables_->push_back(std::move(state));
      auto name = tracked_.full_names.find(key);
      if (name != tracked_.full_names.end()) {
        // A name that several variables have, as those of Adafactor do, tells none of them.
        const auto [same, is_first] = by_full_name_.emplace(name->second, resource);
        if (!is_first) same->second.clear();
      }
    } else {
      (*variables_)[index->second].copies.push_back(key);
    }
    (*variables_)[index->second].trainable |= tracked_.trainable.contains(key);
    return absl::OkStatus();
  }

  const SavedModelGraph& model_;
  Graph* const graph_;
  std::vector<StateVariable>* const variables_;
  TrackedVariables tracked_;
  absl::flat_hash_map<std::string, Node*> handles_;               // by resource
  absl::flat_hash_map<std::string, RestoredVariable> originals_;  // by the resource of the copy
  absl::flat_hash_map<std::string, size_t> indices_;              // in the variables, by resource
  absl::flat_hash_map<std::string, std::string> by_full_name_;    // resources; empty: several
};

// Finds the optimizer's step counter and learning rate by the names that Keras gives them.
void FindOptimizerState(TrainingProgram* program) {
  for (const StateVariable& variable : program->variables) {
    const absl::string_view name =
        absl::string_view(variable.name).substr(variable.name.rfind('/') + 1);
    if (variable.trainable || variable.shape != PartialShape({})) continue;
    const auto is_called = [&](absl::string_view what) {  // Keras's copies have a number
      return name == what || absl::StartsWith(name, absl::StrCat(what, "_"));
    };
    if (variable.dtype == DType::kFloat && is_called("learning_rate")) {
      program->learning_rate = variable.read;
    }
    if (variable.dtype == DType::kInt64 && (is_called("iteration") || is_called("iterations") ||
                                            is_called("iter") || is_called("global_step"))) {
      program->global_step = variable.read;
    }
  }
}

// Returns a copy of a graph whose ops draw the numbers that belong to the seed.
absl::StatusOr<std::unique_ptr<Graph>> SeededGraph(const Graph& graph,
                                                   const std::optional<int64_t>& seed) {
  if (!seed) return graph.Clone();
  tensorflow::GraphDef graph_def;
  ExportGraph(graph, &graph_def);
  SeedRandomOps(*seed, &graph_def);
  return ImportGraph(graph_def, {.allow_unknown_ops = true});
}

}  // namespace

absl::StatusOr<TrainingProgram> MakeSavedModelProgram(const GraphSpec& spec,
                                                      const ProgramOptions& options) {
  RETURN_IF_ERROR(CheckOwnGradients(options, "a SavedModel has its own"));
  RETURN_IF_ERROR(RefuseKeys(spec,
                             {"loss", "optimizer", "schedule", "clip", "trainable", "recompute",
                              "train_op", "init_op", "loss_tensor"},
                             "a SavedModel is trained by its own signatures"));
  TrainingProgram program;
  program.saved_model = ResolvePath(options, spec.saved_model());
  LoadStages stages;
  const auto loaded = ImportSavedModel(program.saved_model, {"serve"}, &stages);
  if (!loaded.ok()) return Annotate(loaded.status(), "graph.saved_model: ");
  const std::shared_ptr<const SavedModelGraph>& imported = *loaded;
  ASSIGN_OR_RETURN(const UsedSignatures used, FindSignatures(*imported, spec.signatures()));
  RETURN_IF_ERROR(CheckInputNames(used, spec));

  auto model = std::make_shared<SavedModelGraph>(*imported);
  ASSIGN_OR_RETURN(const std::shared_ptr<Graph> graph, SeededGraph(*imported->graph, options.seed));
  ModelVariables variables(*imported, graph.get(), &program.variables);
  RETURN_IF_ERROR(variables.Add(used));
  program.other_keys = variables.OtherKeys();
  std::sort(program.variables.begin(), program.variables.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  RETURN_IF_ERROR(AddStateIterators(used.train->Run(), graph.get(), &program));
  model->graph = graph;
  ASSIGN_OR_RETURN(SavedModelBundle bundle, LoadSavedModel(std::move(model), options.session));
  program.session = std::move(bundle.session);
  program.object_graph = imported->object_graph;

  program.init = NodesOf(used.init);
  const FixedValues train_values{spec.train_values(), "train_values"};
  const FixedValues eval_values{spec.eval_values(), "eval_values"};
  RETURN_IF_ERROR(
      FedTensors(spec, train_values, &program.inputs, &program.constants).Add(used.train));
  program.train = NodesOf(used.train);
  program.loss = LossOf(used.train);
  FedTensors evaluation(spec, eval_values, &program.eval_inputs, &program.eval_constants);
  RETURN_IF_ERROR(evaluation.Add(used.loss));
  RETURN_IF_ERROR(evaluation.Add(used.predict));
  program.eval_loss = LossOf(used.loss);
  RETURN_IF_ERROR(AddOutputs(*imported, used.predict, spec, &program.outputs));
  FindOptimizerState(&program);
  return program;
}

}  // namespace tessera

#include "runtime/session/restore_weights.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/checkpoint/checkpoint_match.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/tensor_slice.h"
#include "runtime/graph/prune.h"
#include "runtime/graph/resource_names.h"
#include "runtime/session/restored_variables.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"

namespace tessera {
namespace {

// Returns the variables that the model's own restore op assigns.
absl::StatusOr<std::vector<RestoredVariable>> RestoredVariablesOf(const SavedModelGraph& model) {
  const std::string restore = NodeOf(model.meta_graph->saver_def().restore_op_name());
  if (restore.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the graph of ", model.directory, " restores no variables"));
  }
  return FindRestoredVariables(*model.graph, restore);
}

// Returns the resources that runs of the signatures and of the init op can reach.
absl::flat_hash_set<std::string> UsedResources(const SavedModelGraph& model) {
  std::vector<RunSignature> runs = {{.targets = {model.init_node}}};
  for (const auto& [name, signature] : model.signatures) runs.push_back(signature.Run());
  absl::flat_hash_set<std::string> used;
  for (const RunSignature& run : runs) {
    // A signature that names no node of the graph cannot run.
    const absl::StatusOr<PrunedGraph> pruned = Prune(*model.graph, run);
    if (!pruned.ok()) continue;
    for (const Node* node : pruned->graph->nodes()) {
      for (std::string& name : ResourceNames(*node)) used.insert(std::move(name));
    }
  }
  return used;
}

// Returns the copies whose originals have keys, by their names, in the checkpoint's object graph.
absl::StatusOr<std::vector<CopiedVariable>> CopiedVariables(const SavedModelGraph& model) {
  if (model.object_graph.empty()) return std::vector<CopiedVariable>();
  ASSIGN_OR_RETURN(auto keys, KeysByFullName(model.object_graph));
  ASSIGN_OR_RETURN(std::vector<CopiedVariable> variables, FindCopiedVariables(*model.graph));
  for (CopiedVariable& variable : variables) variable.original.key = keys[variable.original.name];
  std::erase_if(variables, [](const CopiedVariable& each) { return each.original.key.empty(); });
  return variables;
}

// Adds each variable of `wanted` whose copy is among `variables`.
absl::Status AddOriginals(const SavedModelGraph& model,
                          const absl::flat_hash_set<std::string>& wanted,
                          std::vector<RestoredVariable>* variables) {
  ASSIGN_OR_RETURN(std::vector<CopiedVariable> copied, CopiedVariables(model));
  absl::flat_hash_map<std::string, std::string> keys;  // by resource
  for (const RestoredVariable& variable : *variables) keys[variable.resource] = variable.key;
  for (auto& [original, copy] : copied) {
    auto key = keys.find(copy.resource);
    if (key != keys.end() && key->second == original.key && wanted.contains(original.resource)) {
      variables->push_back(std::move(original));
    }
  }
  return absl::OkStatus();
}

// Returns the variable of a session; null if it has no value.
IntrusivePtr<Resource> FindInitialized(const RestoredVariable& variable,
                                       ResourceManager& resources) {
  auto resource = resources.Lookup(variable.container, variable.type_name, variable.name);
  if (!resource.ok() || !static_cast<Variable*>(resource->get())->initialized()) return nullptr;
  return *std::move(resource);
}

// Tells how the tensor of a checkpoint does not fit a variable; empty if it fits.
std::string Misfit(const RestoredVariable& variable, const CheckpointEntry& entry) {
  if (entry.dtype != variable.dtype) {
    return absl::StrCat("is ", DTypeName(entry.dtype), ", the graph's is ",
                        DTypeName(variable.dtype));
  }
  PartialShape wanted = variable.shape;
  if (!variable.shape_and_slice.empty()) {
    const absl::StatusOr<ShapeAndSlice> whole = ShapeAndSlice::Parse(variable.shape_and_slice);
    if (!whole.ok()) return std::string(whole.status().message());
    wanted = PartialShape(whole->shape);
  }
  if (wanted.IsCompatibleWith(entry.shape)) return "";
  return absl::StrCat("has shape ", entry.shape.ToString(), ", the graph's is ", wanted.ToString());
}

absl::StatusOr<Tensor> ReadFor(const RestoredVariable& variable, const std::string& key,
                               const CheckpointReader& checkpoint) {
  if (variable.shape_and_slice.empty()) return checkpoint.Read(key);
  ASSIGN_OR_RETURN(const ShapeAndSlice wanted, ShapeAndSlice::Parse(variable.shape_and_slice));
  return checkpoint.ReadSlice(key, wanted.slice);
}

absl::Status Assign(const RestoredVariable& variable, Tensor value, ResourceManager& resources) {
  ASSIGN_OR_RETURN(
      const IntrusivePtr<Resource> resource,
      resources.LookupOrCreate(variable.container, variable.type_name, variable.name,
                               [&]() -> absl::StatusOr<IntrusivePtr<Resource>> {
                                 return IntrusivePtr<Resource>(
                                     MakeRefCounted<Variable>(variable.dtype, variable.shape));
                               }));
  static_cast<Variable*>(resource.get())->Assign(std::move(value));
  return absl::OkStatus();
}

}  // namespace

absl::Status RestoreWeights(const SavedModelGraph& model, const std::string& prefix,
                            ThreadPool* pool, Session& session) {
  if (session.ListDevices().size() > 1) {
    return absl::UnimplementedError(
        "weights alone are loaded by sessions with a CPU only; push a whole SavedModel");
  }
  ASSIGN_OR_RETURN(std::vector<RestoredVariable> variables, RestoredVariablesOf(model));
  const absl::flat_hash_set<std::string> used = UsedResources(model);
  absl::flat_hash_set<std::string> others = used;
  for (const RestoredVariable& variable : variables) others.erase(variable.resource);
  RETURN_IF_ERROR(AddOriginals(model, others, &variables));
  std::erase_if(variables, [&](const RestoredVariable& variable) {
    return !used.contains(variable.resource);
  });
  std::vector<std::string> keys;
  absl::flat_hash_map<absl::string_view, std::vector<const RestoredVariable*>> by_key;
  for (const RestoredVariable& variable : variables) {
    std::vector<const RestoredVariable*>& of_key = by_key[variable.key];
    if (of_key.empty()) keys.push_back(variable.key);
    of_key.push_back(&variable);
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> checkpoint,
                   CheckpointReader::Open(prefix));
  const auto misfit = [&](const std::string& key, const CheckpointEntry& entry) {
    for (const RestoredVariable* variable : by_key.at(key)) {
      if (std::string problem = Misfit(*variable, entry); !problem.empty()) return problem;
    }
    return std::string();
  };
  const auto matched = MatchCheckpoint(keys, model.object_graph, *checkpoint, misfit);
  if (!matched.ok()) {
    return Annotate(matched.status(),
                    absl::StrCat("it does not fit the graph of ", model.directory, ": "));
  }

  absl::Mutex mu;
  absl::Status status;
  // Checksums take the time of reading the memory.
  constexpr double kCostPerTensor = 1e5;
  ParallelFor(pool, static_cast<int64_t>(variables.size()), kCostPerTensor,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  absl::StatusOr<Tensor> value =
                      ReadFor(variables[i], matched->at(variables[i].key), *checkpoint);
                  const absl::Status restored =
                      value.ok() ? Assign(variables[i], *std::move(value), session.resources())
                                 : value.status();
                  if (restored.ok()) continue;
                  absl::MutexLock lock(&mu);
                  status.Update(restored);
                }
              });
  return status;
}

absl::Status RestoreOriginals(const SavedModelGraph& model, ResourceManager& resources) {
  ASSIGN_OR_RETURN(const std::vector<CopiedVariable> copied, CopiedVariables(model));
  for (const auto& [original, copy] : copied) {
    if (original.dtype != copy.dtype || FindInitialized(original, resources) != nullptr) continue;
    const IntrusivePtr<Resource> restored = FindInitialized(copy, resources);
    if (restored == nullptr) continue;
    RETURN_IF_ERROR(
        Assign(original, static_cast<const Variable*>(restored.get())->Read(), resources));
  }
  return absl::OkStatus();
}

absl::Status CheckVariablesHaveValues(const SavedModelGraph& model, ResourceManager& resources) {
  std::set<std::string> without_value;
  for (const auto& [name, signature] : model.signatures) {
    // A signature that names no node of the graph cannot run.
    const absl::StatusOr<PrunedGraph> pruned = Prune(*model.graph, signature.Run());
    if (!pruned.ok()) continue;
    for (const Node* node : pruned->graph->nodes()) {
      if (!node->IsOp("VarHandleOp") && !node->IsOp("VariableV2") && !node->IsOp("Variable")) {
        continue;
      }
      ASSIGN_OR_RETURN(const RestoredVariable variable, VariableOf(*node));
      if (FindInitialized(variable, resources) == nullptr) without_value.insert(variable.name);
    }
  }
  if (without_value.empty()) return absl::OkStatus();
  constexpr size_t kMaxShown = 3;
  const size_t shown = std::min(without_value.size(), kMaxShown);
  const size_t more = without_value.size() - shown;
  return absl::NotFoundError(absl::StrCat(
      VariablesPrefix(model.directory),
      ".index is not there, and without it there is no value for ",
      without_value.size() == 1 ? "the variable '" : "the variables '",
      absl::StrJoin(without_value.begin(), std::next(without_value.begin(), shown), "', '"), "'",
      more == 0 ? "" : absl::StrCat(" and ", more, " more"), "; was the model copied whole?"));
}

}  // namespace tessera

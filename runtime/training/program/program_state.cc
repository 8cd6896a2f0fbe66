#include "runtime/training/program/program_state.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_match.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/read_tensors.h"
#include "runtime/checkpoint/tensor_slice.h"

namespace tessera {
namespace {

// Tells how the tensor of a checkpoint does not fit a variable; empty if it fits.
std::string Misfit(const StateVariable& variable, const CheckpointEntry& entry) {
  if (entry.dtype != variable.dtype) {
    return absl::StrCat("is ", DTypeName(entry.dtype), ", the graph's is ",
                        DTypeName(variable.dtype));
  }
  if (variable.shape.IsCompatibleWith(entry.shape)) return "";
  return absl::StrCat("has shape ", entry.shape.ToString(), ", the graph's is ",
                      variable.shape.ToString());
}

// Returns whether the checkpoint has the partitioned variable that this is a part of.
bool IsPartIn(const CheckpointReader& checkpoint, const StateVariable& variable) {
  return !variable.slice.empty() && checkpoint.Contains(variable.whole_key);
}

absl::StatusOr<Tensor> ReadPart(const CheckpointReader& checkpoint, const StateVariable& variable) {
  ASSIGN_OR_RETURN(const ShapeAndSlice part, ShapeAndSlice::Parse(variable.slice));
  ASSIGN_OR_RETURN(const CheckpointEntry entry, checkpoint.Find(variable.whole_key));
  if (entry.shape != part.shape || entry.dtype != variable.dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", variable.whole_key, "' is ", DTypeName(entry.dtype), entry.shape.ToString(),
        ", the graph's is ", DTypeName(variable.dtype), part.shape.ToString()));
  }
  return checkpoint.ReadSlice(variable.whole_key, part.slice);
}

// Returns the checkpoint's keys of the program's variables but those that are parts there, in the
// order of the variables; an empty key for a variable that keeps its value.
absl::StatusOr<std::vector<std::string>> KeysIn(const CheckpointReader& checkpoint,
                                                const TrainingProgram& program) {
  std::vector<std::string> keys;
  absl::flat_hash_map<std::string, const StateVariable*> by_key;
  for (const StateVariable& variable : program.variables) {
    if (IsPartIn(checkpoint, variable)) continue;
    keys.push_back(variable.key);
    by_key[variable.key] = &variable;
  }
  const auto misfit = [&](const std::string& key, const CheckpointEntry& entry) {
    return Misfit(*by_key.at(key), entry);
  };
  auto matched = MatchCheckpoint(keys, program.object_graph, checkpoint, misfit);
  if (!matched.ok()) {
    // A checkpoint that the model's own signature wrote has other keys. Variables that its
    // signature "restore" leaves as they are stay so here, too.
    std::vector<std::string> others;
    bool has_others = false;
    for (const std::string& key : keys) {
      const auto other = program.other_keys.find(key);
      if (other == program.other_keys.end()) continue;
      others.push_back(other->second);
      by_key[other->second] = by_key.at(key);
      has_others = has_others || checkpoint.Contains(other->second);
    }
    if (has_others) {
      matched = MatchCheckpoint(others, "", checkpoint, misfit);
      for (std::string& key : keys) {
        const auto other = program.other_keys.find(key);
        key = other == program.other_keys.end() ? "" : other->second;
      }
    }
  }
  RETURN_IF_ERROR(matched.status());
  for (std::string& key : keys) {
    if (!key.empty()) key = matched->at(key);
  }
  return keys;
}

}  // namespace

absl::StatusOr<StateVariable> AddStateVariable(Graph* graph, Node* handle) {
  const bool is_resource = handle->IsOp("VarHandleOp");
  if (!is_resource && !handle->IsOp("VariableV2") && !handle->IsOp("Variable")) {
    return absl::InvalidArgumentError(
        absl::StrCat("node '", handle->name(), "' (op ", handle->op_name(), ") is no variable"));
  }
  StateVariable variable;
  variable.key = variable.name = handle->name();
  ASSIGN_OR_RETURN(variable.dtype, handle->attr<DType>("dtype"));
  ASSIGN_OR_RETURN(variable.shape, handle->attr<PartialShape>("shape"));
  const auto add = [&](absl::string_view what, absl::string_view op, AttrMap attrs,
                       const std::vector<Endpoint>& inputs) {
    return graph->AddNode(graph->UniqueName(absl::StrCat(handle->name(), "/State/", what)), op,
                          std::move(attrs), inputs, handle->device());
  };
  ASSIGN_OR_RETURN(
      Node* const value,
      add("Value", "Placeholder", {{"dtype", variable.dtype}, {"shape", variable.shape}}, {}));
  Node* read = handle;
  if (is_resource) {
    ASSIGN_OR_RETURN(read, add("Read", "ReadVariableOp", {{"dtype", variable.dtype}}, {{handle}}));
  }
  ASSIGN_OR_RETURN(
      Node* const assign,
      is_resource
          ? add("Assign", "AssignVariableOp", {{"dtype", variable.dtype}}, {{handle}, {value}})
          : add("Assign", "Assign", {{"T", variable.dtype}}, {{handle}, {value}}));
  variable.value = TensorName({value});
  variable.read = TensorName({read});
  variable.assign = assign->name();
  return variable;
}

absl::StatusOr<std::vector<std::pair<std::string, Tensor>>> ReadState(
    const TrainingProgram& program) {
  std::vector<std::string> fetches;
  for (const StateVariable& variable : program.variables) fetches.push_back(variable.read);
  std::vector<Tensor> values;
  RETURN_IF_ERROR(program.session->Run({}, fetches, {}, &values));
  std::vector<std::pair<std::string, Tensor>> state;
  for (size_t i = 0; i < values.size(); ++i) {
    const StateVariable& variable = program.variables[i];
    state.emplace_back(variable.key, values[i]);
    for (const std::string& copy : variable.copies) state.emplace_back(copy, values[i]);
  }
  return state;
}

absl::Status RestoreState(const TrainingProgram& program, const std::string& prefix) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> checkpoint,
                   CheckpointReader::Open(prefix));
  absl::StatusOr<std::vector<std::string>> keys = KeysIn(*checkpoint, program);
  if (!keys.ok()) {
    return Annotate(keys.status(),
                    absl::StrCat("the checkpoint ", prefix, " does not fit the graph: "));
  }
  std::vector<std::string> names;  // of the tensors that are read as a whole
  for (const std::string& key : *keys) {
    if (!key.empty()) names.push_back(key);
  }
  ASSIGN_OR_RETURN(std::vector<Tensor> tensors, ReadTensors(*checkpoint, names));
  std::vector<NamedTensor> feeds;
  std::vector<std::string> targets;
  auto key = keys->begin();
  auto tensor = tensors.begin();
  for (const StateVariable& variable : program.variables) {
    Tensor value;
    if (IsPartIn(*checkpoint, variable)) {
      ASSIGN_OR_RETURN(value, ReadPart(*checkpoint, variable));
    } else if (!(key++)->empty()) {
      value = *std::move(tensor++);
    } else {
      continue;
    }
    feeds.emplace_back(variable.value, std::move(value));
    targets.push_back(variable.assign);
  }
  return program.session->Run(feeds, {}, targets, nullptr);
}

}  // namespace tessera

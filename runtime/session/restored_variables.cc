#include "runtime/session/restored_variables.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/framework/resource_manager.h"
#include "runtime/graph/function_calls.h"
#include "runtime/graph/prune.h"
#include "runtime/graph/resource_names.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/inline_functions.h"

namespace tessera {
namespace {

absl::Status DoesMore(const Node& node) {
  return absl::UnimplementedError(absl::StrCat(
      "its graph restores more than variables (node '", node.name(), "', op ", node.op_name(),
      "), so that weights alone cannot be loaded; push a whole SavedModel"));
}

const Node* ThroughIdentities(const Node* node) {
  while (node != nullptr && node->IsOp("Identity")) node = node->input(0).node;
  return node;
}

// Finds the variables that a graph restores, in the graph that its restore op runs.
class RestoredVariables {
 public:
  explicit RestoredVariables(bool but_tables) : but_tables_(but_tables) {}

  absl::StatusOr<std::vector<RestoredVariable>> Find(const Graph& graph,
                                                     const std::string& restore_node) {
    ASSIGN_OR_RETURN(PrunedGraph pruned, Prune(graph, {.targets = {restore_node}}));
    OptimizationItem item;
    item.graph = pruned.graph.get();
    item.preserved = pruned.targets;
    const InlineFunctionsPass inline_functions;
    for (bool changed = true; changed;) {
      changed = false;
      RETURN_IF_ERROR(inline_functions.Run(item, &changed));
    }
    for (const Node* node : pruned.graph->nodes()) {
      if (!CallsOf(*pruned.graph, *node).functions.empty()) return DoesMore(*node);
      if (node->IsOp("RestoreV2")) RETURN_IF_ERROR(AddOutputs(*node));
    }
    return std::move(variables_);
  }

 private:
  absl::Status AddOutputs(const Node& restore) {
    const Tensor* names = ConstantValue(restore.input(1));
    const Tensor* slices = ConstantValue(restore.input(2));
    if (names == nullptr || slices == nullptr || names->num_elements() != restore.num_outputs() ||
        slices->num_elements() != restore.num_outputs()) {
      return DoesMore(restore);
    }
    for (int i = 0; i < restore.num_outputs(); ++i) {
      RETURN_IF_ERROR(
          AddUses(restore, i, names->flat<std::string>()[i], slices->flat<std::string>()[i]));
    }
    return absl::OkStatus();
  }

  // Adds the variables that get an output of `restore`, directly or through other nodes.
  absl::Status AddUses(const Node& restore, int output, const std::string& key,
                       const std::string& shape_and_slice) {
    const auto& direct = restore.uses(output);
    std::vector<Use> open(direct.begin(), direct.end());
    while (!open.empty()) {
      const Use use = open.back();
      open.pop_back();
      if (use.node->IsOp("Identity") || use.node->IsOp("EnsureShape")) {
        const auto& further = use.node->uses(0);
        open.insert(open.end(), further.begin(), further.end());
        continue;
      }
      if (but_tables_ && use.node->IsOp("LookupTableImportV2")) continue;
      const bool is_ref = use.node->IsOp("Assign");
      if (use.index != 1 || (!is_ref && !use.node->IsOp("AssignVariableOp"))) {
        return DoesMore(*use.node);
      }
      const Node* handle = ThroughIdentities(use.node->input(0).node);
      const bool is_variable =
          handle != nullptr && (is_ref ? handle->IsOp("VariableV2") || handle->IsOp("Variable")
                                       : handle->IsOp("VarHandleOp"));
      if (!is_variable) return DoesMore(*use.node);
      ASSIGN_OR_RETURN(RestoredVariable variable, VariableOf(*handle));
      variable.key = key;
      variable.shape_and_slice = shape_and_slice;
      variables_.push_back(std::move(variable));
    }
    return absl::OkStatus();
  }

  const bool but_tables_;
  std::vector<RestoredVariable> variables_;
};

}  // namespace

absl::StatusOr<RestoredVariable> VariableOf(const Node& handle) {
  RestoredVariable variable;
  variable.resource = ResourceNames(handle).front();
  ASSIGN_OR_RETURN(variable.container, handle.attr<std::string>("container"));
  ASSIGN_OR_RETURN(variable.name, handle.attr<std::string>("shared_name"));
  if (variable.name.empty()) variable.name = handle.name();
  variable.type_name = handle.IsOp("VarHandleOp") ? Variable::kTypeName : Variable::kRefTypeName;
  ASSIGN_OR_RETURN(variable.dtype, handle.attr<DType>("dtype"));
  ASSIGN_OR_RETURN(variable.shape, handle.attr<PartialShape>("shape"));
  return variable;
}

absl::StatusOr<std::vector<RestoredVariable>> FindRestoredVariables(const Graph& graph,
                                                                    const std::string& restore_node,
                                                                    bool but_tables) {
  return RestoredVariables(but_tables).Find(graph, restore_node);
}

absl::StatusOr<std::vector<CopiedVariable>> FindCopiedVariables(const Graph& graph) {
  std::vector<CopiedVariable> variables;
  for (const Node* node : graph.nodes()) {
    if (!node->IsOp("AssignVariableOp")) continue;
    const Node* copy = ThroughIdentities(node->input(0).node);
    const Node* read = ThroughIdentities(node->input(1).node);
    if (copy == nullptr || !copy->IsOp("VarHandleOp")) continue;
    if (read == nullptr || !read->IsOp("ReadVariableOp")) continue;
    const Node* original = ThroughIdentities(read->input(0).node);
    if (original == nullptr || !original->IsOp("VarHandleOp")) continue;
    CopiedVariable variable;
    ASSIGN_OR_RETURN(variable.original, VariableOf(*original));
    ASSIGN_OR_RETURN(variable.copy, VariableOf(*copy));
    variables.push_back(std::move(variable));
  }
  return variables;
}

}  // namespace tessera

#include "runtime/optimize/freeze_variables.h"

#include <optional>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/optimize/constant_node.h"
#include "runtime/optimize/derived_constants.h"
#include "runtime/optimize/replace_node.h"

namespace tessera {
namespace {

bool IsRefVariable(const Node& node) { return node.IsOp("VariableV2") || node.IsOp("Variable"); }

// The resource that the kernels of a variable's node read.
struct ResourceKey {
  std::string container, name;
  absl::string_view type;
};

std::optional<ResourceKey> KeyOf(const Node& node) {
  const auto container = node.attr<std::string>("container");
  const auto name = node.attr<std::string>("shared_name");
  if (!container.ok() || !name.ok()) return std::nullopt;
  return ResourceKey{.container = *container,
                     .name = name->empty() ? node.name() : *name,
                     .type = IsRefVariable(node) ? Variable::kRefTypeName : Variable::kTypeName};
}

// None if the variable does not exist or is empty.
Tensor ValueOf(const ResourceManager& resources, const ResourceKey& key) {
  const auto resource = resources.Lookup(key.container, key.type, key.name);
  if (!resource.ok()) return Tensor();
  const auto* variable = dynamic_cast<const Variable*>(resource->get());
  return variable == nullptr ? Tensor() : variable->Read();
}

// The value in memory that passes can read. `variable` says which device holds it.
absl::StatusOr<Tensor> OnHost(const OptimizationItem& item, const Node& variable, Tensor value) {
  if (IsHostAccessible(value.memory_kind())) return value;
  for (const Device* device : item.devices) {
    if (device->full_name() != variable.device()) continue;
    ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(value.dtype(), value.shape(), HeapAllocator()));
    device->stream()->Copy(value, &copy);
    RETURN_IF_ERROR(device->stream()->Synchronize());
    return copy;
  }
  return Tensor();
}

bool OnlyRead(const Node& variable) {
  for (const Use& use : variable.uses(0)) {
    if (IsRefVariable(variable)) {
      if (IsRef(use.node->input_type(use.index))) return false;
    } else if (InputUse(use.node->op(), use.node->attrs(), use.index) != ArgUse::kRead) {
      return false;
    }
  }
  return true;
}

// Puts a look-up in `values` in the place of a ResourceGather.
absl::Status GatherFrom(Graph* graph, Node* gather, const Endpoint& values) {
  ASSIGN_OR_RETURN(const int64_t batch_dims, gather->attr<int64_t>("batch_dims"));
  ASSIGN_OR_RETURN(Node * axis, AddConstant(graph, gather->name() + "/axis",
                                            Tensor::Scalar<int64_t>(batch_dims), gather->device()));
  AttrMap attrs = {{"Tparams", gather->output_type(0)},
                   {"Tindices", gather->input_type(1)},
                   {"Taxis", DType::kInt64},
                   {"batch_dims", batch_dims}};
  return ReplaceNode(graph, gather, "GatherV2", std::move(attrs),
                     {values, gather->input(1), {axis, 0}})
      .status();
}

// Lets who used the read use `constant`, which waits for nothing; behind what the read waits for,
// such as an assertion.
absl::Status ReplaceRead(Graph* graph, Node* read, Node* constant) {
  if (read->control_inputs().empty()) return graph->ReplaceUses({read, 0}, {constant, 0});
  ASSIGN_OR_RETURN(Node * waiting, graph->AddNode(graph->UniqueName(read->name() + "/value"),
                                                  "Identity", {{"T", constant->output_type(0)}},
                                                  {{constant, 0}}, read->device()));
  for (Node* control : read->control_inputs()) graph->AddControlEdge(control, waiting);
  return graph->ReplaceUses({read, 0}, {waiting, 0});
}

}  // namespace

absl::Status FreezeVariablesPass::Run(OptimizationItem& item, bool* changed) const {
  if (item.resources == nullptr || item.is_frozen == nullptr) return absl::OkStatus();
  Graph& graph = *item.graph;
  const IntrusivePtr<DerivedConstants> derived = DerivedConstants::Of(item);
  for (int id = 0, end = graph.id_bound(); id < end; ++id) {
    Node* variable = graph.node(id);
    if (variable == nullptr) continue;
    const bool is_ref = IsRefVariable(*variable);
    if (!is_ref && !variable->IsOp("VarHandleOp")) continue;
    if (!OnlyRead(*variable) || !item.is_frozen(*variable)) continue;
    const std::optional<ResourceKey> key = KeyOf(*variable);
    if (!key.has_value()) continue;
    ASSIGN_OR_RETURN(const Tensor value, OnHost(item, *variable, ValueOf(*item.resources, *key)));
    if (!value.has_value()) continue;
    Node* constant = nullptr;
    const std::vector<Use> uses = variable->uses(0);
    for (const Use& use : uses) {
      Node* reader = use.node;
      const bool gathers = reader->IsOp("ResourceGather") && !item.IsPreserved(reader);
      if (!is_ref && ((!reader->IsOp("ReadVariableOp") && !gathers) || reader->uses(0).empty() ||
                      reader->output_type(0) != value.dtype())) {
        continue;
      }
      if (constant == nullptr) {
        ASSIGN_OR_RETURN(
            constant, AddConstant(&graph, variable->name() + "/value", value, variable->device()));
        SetDerivedNumber(constant,
                         derived->NoteVariable(key->container, key->type, key->name, value));
      }
      if (gathers) {
        RETURN_IF_ERROR(GatherFrom(&graph, reader, {constant, 0}));
      } else {
        RETURN_IF_ERROR(is_ref ? graph.Connect({constant, 0}, reader, use.index)
                               : ReplaceRead(&graph, reader, constant));
      }
      *changed = true;
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera

#include "runtime/exec/memory_copies.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

class CopyInserter {
 public:
  CopyInserter(const Device& device, const BoundaryMemory& boundary, Graph* graph)
      : device_(device), boundary_(boundary), graph_(*graph) {}

  absl::Status Run() {
    std::vector<Node*> nodes;
    for (Node* node : graph_.nodes()) nodes.push_back(node);
    for (Node* node : nodes) {
      ASSIGN_OR_RETURN(KernelMemory memory, MemoryOfNode(graph_, *node, device_, boundary_));
      memory_.emplace(node, std::move(memory));
    }
    for (Node* node : nodes) {
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Endpoint from = node->input(i);
        // A reference is one in every memory; what reads it as a plain value may need a copy.
        if (from.node == nullptr || IsRef(node->input_type(i))) continue;
        const MemoryKind given = memory_.at(from.node).outputs[from.index];
        const MemoryKind wanted = memory_.at(node).inputs[i];
        if (IsHostAccessible(given) == IsHostAccessible(wanted) &&
            !LeavesWithTensors(from, *node)) {
          continue;
        }
        ASSIGN_OR_RETURN(const Endpoint copy, Copied(from, wanted));
        RETURN_IF_ERROR(graph_.Connect(copy, node, i));
      }
    }
    for (Node* node : nodes) {
      if (node->IsOp("Const") && node->uses(0).empty() && node->control_outputs().empty()) {
        graph_.Remove(node);
      }
    }
    return absl::OkStatus();
  }

 private:
  // A variant is always in host memory, but the tensors that it holds need not be.
  bool LeavesWithTensors(const Endpoint& from, const Node& to) const {
    if (RemoveRef(from.node->output_type(from.index)) != DType::kVariant) return false;
    if (to.IsOp("_Send") || to.IsOp("_HostSend") || to.IsOp("Send")) return true;
    return boundary_.results_on_host && (to.IsOp("_Retval") || to.IsOp("_DeviceRetval"));
  }

  // The value in the other kind of memory.
  absl::StatusOr<Endpoint> Copied(const Endpoint& from, MemoryKind wanted) {
    auto [it, is_new] = copies_.emplace(from, Endpoint());
    if (!is_new) return it->second;
    Node* copy = nullptr;
    if (from.node->IsOp("Const")) {
      ASSIGN_OR_RETURN(
          copy, graph_.AddNode(graph_.UniqueName(from.node->name() + "/on_host"), "HostConst",
                               from.node->attrs(), {}, from.node->device()));
      for (Node* control : from.node->control_inputs()) graph_.AddControlEdge(control, copy);
    } else {
      const bool to_host = IsHostAccessible(wanted);
      const DType type = RemoveRef(from.node->output_type(from.index));
      ASSIGN_OR_RETURN(
          copy, graph_.AddNode(graph_.UniqueName(absl::StrCat(from.node->name(), "_", from.index,
                                                              to_host ? "/to_host" : "/to_device")),
                               to_host ? "_CopyToHost" : "_CopyToDevice", {{"T", type}}, {from},
                               from.node->device()));
    }
    return copies_[from] = {copy, 0};
  }

  const Device& device_;
  const BoundaryMemory& boundary_;
  Graph& graph_;
  absl::flat_hash_map<const Node*, KernelMemory> memory_;
  absl::flat_hash_map<Endpoint, Endpoint> copies_;
};

}  // namespace

absl::Status InsertCopies(const Device& device, const BoundaryMemory& boundary, Graph* graph) {
  if (device.memory_kind() == MemoryKind::kHost) return absl::OkStatus();
  return CopyInserter(device, boundary, graph).Run();
}

}  // namespace tessera

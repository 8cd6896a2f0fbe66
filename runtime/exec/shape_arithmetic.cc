#include "runtime/exec/shape_arithmetic.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"

namespace tessera {
namespace {

// Ops whose outputs are about as small as their inputs, and whose kernels are pure.
bool IsArithmetic(const Node& node) {
  static const auto* const kOps = new absl::flat_hash_set<absl::string_view>{
      "Abs",          "Add",       "AddN",       "AddV2",       "All",          "Any",
      "Cast",         "Concat",    "ConcatV2",   "Equal",       "ExpandDims",   "FloorDiv",
      "FloorMod",     "Gather",    "GatherV2",   "Greater",     "GreaterEqual", "Identity",
      "Less",         "LessEqual", "LogicalAnd", "LogicalNot",  "LogicalOr",    "Max",
      "Maximum",      "Min",       "Minimum",    "Mod",         "Mul",          "Neg",
      "NotEqual",     "Pack",      "Prod",       "Reshape",     "ReverseV2",    "Select",
      "SelectV2",     "Slice",     "Split",      "SplitV",      "Squeeze",      "StopGradient",
      "StridedSlice", "Sub",       "Sum",        "TruncateDiv", "TruncateMod",  "Unpack"};
  return kOps->contains(node.op_name());
}

bool IsIndexType(DType type) {
  return type == DType::kInt32 || type == DType::kInt64 || type == DType::kBool;
}

bool HasIndexTypesAlone(const Node& node) {
  return std::all_of(node.input_types().begin(), node.input_types().end(), IsIndexType) &&
         std::all_of(node.output_types().begin(), node.output_types().end(), IsIndexType);
}

// A constant of this many elements is copied to where it is wanted, whatever it is for.
constexpr int64_t kMaxConstant = 64;

bool IsSmallConstant(const Node& node) {
  if (!node.IsOp("Const")) return false;
  const auto value = node.attrs().find("value");
  const Tensor* const tensor = value == node.attrs().end() ? nullptr : value->second.get<Tensor>();
  return tensor != nullptr && tensor->num_elements() <= kMaxConstant;
}

class HostMarker {
 public:
  HostMarker(const Device& device, const BoundaryMemory& boundary, Graph* graph)
      : device_(device), boundary_(boundary), graph_(*graph) {}

  absl::Status Run() {
    ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(graph_));
    for (const Node* node : order) {
      ASSIGN_OR_RETURN(KernelMemory memory, MemoryOfNode(graph_, *node, device_, boundary_));
      memory_.emplace(node, std::move(memory));
      if (CanBeOnHost(*node)) can_be_on_host_.insert(node);
    }
    // Consumers come before what they consume.
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (can_be_on_host_.contains(*it) && IsWantedOnHost(**it)) {
        wanted_on_host_.insert(*it);
        (*it)->SetAttr(kOnHost, true);
      }
    }
    return absl::OkStatus();
  }

 private:
  bool CanBeOnHost(const Node& node) const {
    if (!IsArithmetic(node) || !HasIndexTypesAlone(node)) return false;
    bool computes = false;
    for (const Endpoint& from : node.inputs()) {
      if (from.node == nullptr) return false;
      if (IsSmallConstant(*from.node)) continue;
      if (!GivesOnHost(from)) return false;
      computes = true;
    }
    return computes;
  }

  // Whether the value is one that a kernel leaves in host memory. Arguments of a run and what comes
  // from other devices are not. Sources of a loop's back edges, which come later in the order, are
  // taken for values on the device.
  bool GivesOnHost(const Endpoint& from) const {
    if (can_be_on_host_.contains(from.node)) return true;
    const auto memory = memory_.find(from.node);
    return memory != memory_.end() && !absl::StartsWith(from.node->op_name(), "_") &&
           IsHostAccessible(memory->second.outputs[from.index]);
  }

  bool IsWantedOnHost(const Node& node) const {
    for (int i = 0; i < node.num_outputs(); ++i) {
      for (const Use& use : node.uses(i)) {
        if (use.index < 0) continue;
        if (wanted_on_host_.contains(use.node)) return true;
        const MemoryKind wanted = memory_.at(use.node).inputs[use.index];
        if (IsHostAccessible(wanted)) return true;
      }
    }
    return false;
  }

  const Device& device_;
  const BoundaryMemory& boundary_;
  Graph& graph_;
  absl::flat_hash_map<const Node*, KernelMemory> memory_;
  absl::flat_hash_set<const Node*> can_be_on_host_, wanted_on_host_;
};

}  // namespace

absl::Status KeepShapeArithmeticOnHost(const Device& device, const BoundaryMemory& boundary,
                                       Graph* graph) {
  if (device.memory_kind() == MemoryKind::kHost) return absl::OkStatus();
  return HostMarker(device, boundary, graph).Run();
}

}  // namespace tessera

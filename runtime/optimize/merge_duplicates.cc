#include "runtime/optimize/merge_duplicates.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/graph/side_effects.h"
#include "runtime/optimize/constant_node.h"

namespace tessera {
namespace {

// Larger ones are compared by address: their bytes are not worth reading.
constexpr size_t kMaxComparedBytes = 4096;

bool CanMerge(const Node& node) {
  auto is_opaque = [](DType type) { return type == DType::kVariant || type == DType::kResource; };
  auto is_open = [](const Endpoint& input) { return input.node == nullptr; };
  return IsPure(node) && node.num_outputs() > 0 &&
         std::none_of(node.output_types().begin(), node.output_types().end(), is_opaque) &&
         std::none_of(node.inputs().begin(), node.inputs().end(), is_open);
}

void AppendAttr(absl::string_view name, const AttrValue& value, std::string* key) {
  absl::StrAppend(key, "|", name, "=");
  const Tensor* tensor = value.get<Tensor>();
  if (tensor != nullptr && tensor->total_bytes() > kMaxComparedBytes) {
    absl::StrAppend(key, "@", absl::Hex(reinterpret_cast<uintptr_t>(tensor->raw())), ":",
                    DTypeName(tensor->dtype()), tensor->shape().ToString());
  } else {
    absl::StrAppend(key, value.ToString());
  }
}

// Equal for nodes that compute the same.
std::string KeyOf(const Node& node) {
  std::string key = absl::StrCat(node.op_name(), "|", node.device());
  // Two variables that happen to have one value need not have it in the next session.
  const int64_t derived = DerivedNumber(node);
  if (derived >= 0) absl::StrAppend(&key, "|derived ", derived);
  for (const auto& [name, value] : node.attrs()) {
    if (derived >= 0 && name == "value") continue;
    if (!absl::StartsWith(name, "_") || name == "_kernel") AppendAttr(name, value, &key);
  }
  std::vector<std::pair<int, int>> inputs;
  for (const Endpoint& input : node.inputs()) inputs.emplace_back(input.node->id(), input.index);
  if (node.op().is_commutative) std::sort(inputs.begin(), inputs.end());
  for (const auto& [id, index] : inputs) absl::StrAppend(&key, "|", id, ":", index);
  std::vector<int> controls;
  for (const Node* control : node.control_inputs()) controls.push_back(control->id());
  std::sort(controls.begin(), controls.end());
  for (int id : controls) absl::StrAppend(&key, "|^", id);
  return key;
}

}  // namespace

absl::Status MergeDuplicatesPass::Run(OptimizationItem& item, bool* changed) const {
  Graph& graph = *item.graph;
  ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(graph));
  absl::flat_hash_map<std::string, Node*> first;
  for (Node* node : order) {
    if (!CanMerge(*node)) continue;
    const auto [it, is_new] = first.emplace(KeyOf(*node), node);
    if (is_new || item.IsPreserved(node)) continue;
    Node* kept = it->second;
    for (int i = 0; i < node->num_outputs(); ++i) {
      RETURN_IF_ERROR(graph.ReplaceUses({node, i}, {kept, i}));
    }
    graph.MoveControlOutputs(node, kept);
    graph.Remove(node);
    *changed = true;
  }
  return absl::OkStatus();
}

}  // namespace tessera

#include "runtime/graph/resource_names.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tessera {

std::vector<std::string> ResourceNames(const Node& node) {
  const OpDef& op = node.op();
  if (!op.traits.HasAnyOf(OpTraits(OpTrait::kMakesHandle, OpTrait::kMakesResource)) ||
      op.Has(OpTrait::kOwnedByStep)) {
    return {};
  }
  std::vector<std::string> result;
  if (node.IsOp("_VarHandlesOp")) {
    const auto containers = node.attr<std::vector<std::string>>("containers");
    const auto names = node.attr<std::vector<std::string>>("shared_names");
    if (!containers.ok() || !names.ok()) return {};
    for (size_t i = 0; i < std::min(containers->size(), names->size()); ++i) {
      result.push_back(absl::StrCat("VarHandleOp ", (*containers)[i], "/", (*names)[i]));
    }
    return result;
  }
  const std::string container = node.attr<std::string>("container").value_or("");
  std::string name = node.attr<std::string>("shared_name").value_or("");
  if (name.empty()) name = node.name();
  // Variable is VariableV2 under an older name.
  const absl::string_view kind =
      node.IsOp("Variable") ? "VariableV2" : absl::string_view(node.op_name());
  result.push_back(absl::StrCat(kind, " ", container, "/", name));
  return result;
}

}  // namespace tessera

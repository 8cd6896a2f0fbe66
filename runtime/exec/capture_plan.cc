#include "runtime/exec/capture_plan.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/framework/op_traits.h"

namespace tessera {
namespace {

absl::Status Refuse(const Node& node, absl::string_view reason) {
  return absl::FailedPreconditionError(
      absl::StrCat("node '", node.name(), "' of op ", node.op_name(), " ", reason));
}

// True if two runs with the same inputs do the same.
bool IsPure(const OpDef& op) {
  return op.is_stateful ? op.traits == OpTraits(OpTrait::kComputesOnly) : op.traits.empty();
}

absl::Status CheckArg(const Node& arg) {
  for (const Use& use : arg.uses(0)) {
    if (!use.node->IsOp("_CopyToDevice")) {
      return Refuse(arg, absl::StrCat("is read on the host, by '", use.node->name(), "'"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> IndexOf(const Node& node) {
  ASSIGN_OR_RETURN(const int64_t index, node.attr<int64_t>("index"));
  return static_cast<int>(index);
}

absl::StatusOr<CapturePlan::Upload> PlanUpload(const Node& node, uint32_t number) {
  const Node& from = *node.input(0).node;
  if (RoleOf(from) != NodeRole::kArg) return CapturePlan::Upload{number, -1};
  ASSIGN_OR_RETURN(const int arg, IndexOf(from));
  return CapturePlan::Upload{number, arg};
}

absl::StatusOr<CapturePlan::Download> PlanDownload(const Node& node, uint32_t number) {
  if (node.output_type(0) == DType::kVariant) return Refuse(node, "holds tensors of the device");
  CapturePlan::Download download{number, {}};
  for (const Use& use : node.uses(0)) {
    if (RoleOf(*use.node) != NodeRole::kRetval) {
      return Refuse(*use.node, "reads on the host what the device computes");
    }
    ASSIGN_OR_RETURN(const int result, IndexOf(*use.node));
    download.results.push_back(result);
  }
  return download;
}

// A result that no _CopyToHost gives must be a value of the host that depends on shapes alone.
absl::Status CheckResult(const Node& retval) {
  const Node& from = *retval.input(0).node;
  if (RoleOf(from) == NodeRole::kArg) return Refuse(retval, "gives an argument");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CapturePlan> PlanCapture(const CompiledGraph& graph) {
  CapturePlan plan;
  uint32_t number = 0;
  for (const CompiledNode& compiled : graph.nodes) {
    const Node& node = *compiled.node;
    switch (compiled.role) {
      case NodeRole::kArg:
        if (node.IsOp("_DeviceArg")) return Refuse(node, "is given on the device");
        RETURN_IF_ERROR(CheckArg(node));
        break;
      case NodeRole::kRetval:
        RETURN_IF_ERROR(CheckResult(node));
        break;
      case NodeRole::kConst:
      case NodeRole::kNoOp:
        break;
      case NodeRole::kKernel:
        if (node.IsOp("_CopyToDevice")) {
          ASSIGN_OR_RETURN(const CapturePlan::Upload upload, PlanUpload(node, number));
          plan.uploads.push_back(upload);
        } else if (node.IsOp("_CopyToHost")) {
          ASSIGN_OR_RETURN(CapturePlan::Download download, PlanDownload(node, number));
          plan.downloads.push_back(std::move(download));
        } else if (!IsPure(node.op())) {
          return Refuse(node, "does more than compute its outputs");
        }
        ++number;
        break;
      default:
        return Refuse(node, "is no part of a straight-through program");
    }
  }
  return plan;
}

}  // namespace tessera

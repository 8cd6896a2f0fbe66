#include "runtime/exec/capture_plan.h"

#include <algorithm>
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

// True if the op does nothing but compute its outputs, from its inputs alone or with numbers that
// it draws, or fail: kernels of devices draw anew in each run of captured work
// (runtime/device/capture/run_values.h), and an assertion reads in host memory what depends on the
// shapes alone, so that it holds in each run if it holds for the capture.
bool ComputesAlone(const OpDef& op) {
  if (!op.is_stateful) return op.traits.empty();
  return op.traits == OpTraits(OpTrait::kComputesOnly) || op.traits == OpTraits(OpTrait::kRandom) ||
         op.traits == OpTraits(OpTrait::kAsserts);
}

// True if the op does nothing but compute its outputs, give handles, and read and write what the
// handles name that it is given.
bool UsesHandlesAlone(const OpDef& op) {
  OpTraits others;
  for (int trait = 0; trait <= static_cast<int>(OpTrait::kUndeclared); ++trait) {
    const OpTrait one = static_cast<OpTrait>(trait);
    if (one != OpTrait::kComputesOnly && one != OpTrait::kMakesHandle &&
        one != OpTrait::kReadsResource && one != OpTrait::kWritesResource) {
      others.Add(one);
    }
  }
  return !op.traits.empty() && !op.traits.HasAnyOf(others);
}

bool IsHandOver(const Node& node) { return node.IsOp("Identity"); }

// The node that gives the handle at input i.
const Node& OriginOf(const Node& node, int i) {
  const Node* from = node.input(i).node;
  while (IsHandOver(*from)) from = from->input(0).node;
  return *from;
}

bool IsWritten(const Node& node, int output) {
  for (const Use& use : node.uses(output)) {
    if (use.index < 0 || RoleOf(*use.node) == NodeRole::kRetval) continue;
    const bool is_written = IsHandOver(*use.node) ? IsWritten(*use.node, 0)
                                                  : InputUse(use.node->op(), use.node->attrs(),
                                                             use.index) != ArgUse::kRead;
    if (is_written) return true;
  }
  return false;
}

absl::StatusOr<int> IndexOf(const Node& node) {
  ASSIGN_OR_RETURN(const int64_t index, node.attr<int64_t>("index"));
  return static_cast<int>(index);
}

class CapturePlanner {
 public:
  explicit CapturePlanner(const BoundaryMemory& boundary) { plan_.boundary = boundary; }

  absl::StatusOr<CapturePlan> Run(const CompiledGraph& graph) {
    uint32_t number = 0;
    for (const CompiledNode& compiled : graph.nodes) {
      const Node& node = *compiled.node;
      switch (compiled.role) {
        case NodeRole::kArg:
          RETURN_IF_ERROR(AddArg(node));
          break;
        case NodeRole::kRetval:
          RETURN_IF_ERROR(CheckResult(node));
          break;
        case NodeRole::kConst:
        case NodeRole::kNoOp:
          break;
        case NodeRole::kKernel:
          RETURN_IF_ERROR(AddKernel(node, number));
          ++number;
          break;
        default:
          return Refuse(node, "is no part of a straight-through program");
      }
    }
    return std::move(plan_);
  }

 private:
  absl::Status AddArg(const Node& arg) {
    const DType type = arg.output_type(0);
    if (type == DType::kResource) {
      ASSIGN_OR_RETURN(const int index, IndexOf(arg));
      return AddHandle(arg, {.arg = index, .node = 0, .output = 0});
    }
    if (!plan_.boundary.args_on_host && IsTriviallyCopyable(type)) return absl::OkStatus();
    if (arg.IsOp("_DeviceArg")) return Refuse(arg, "is given on the device");
    for (const Use& use : arg.uses(0)) {
      if (!use.node->IsOp("_CopyToDevice")) {
        return Refuse(arg, absl::StrCat("is read on the host, by '", use.node->name(), "'"));
      }
    }
    return absl::OkStatus();
  }

  // A variable that a function writes may be written by its caller at the same time.
  absl::Status AddHandle(const Node& node, CapturePlan::Handle handle) {
    handle.is_written = IsWritten(node, handle.output);
    if (handle.is_written && !plan_.boundary.args_on_host) {
      return Refuse(node, "gives a variable that a function writes");
    }
    plan_.handles.push_back(handle);
    return absl::OkStatus();
  }

  // A result that no _CopyToHost gives must lie on the device, or be a value of the host that
  // depends on shapes alone, or the handle of a variable.
  absl::Status CheckResult(const Node& retval) const {
    const Node& from = *retval.input(0).node;
    const DType type = RemoveRef(from.output_type(retval.input(0).index));
    if (type == DType::kVariant) return Refuse(retval, "may hold tensors of the device");
    const bool is_on_device = !plan_.boundary.results_on_host && IsTriviallyCopyable(type);
    if (RoleOf(from) == NodeRole::kArg && !is_on_device && type != DType::kResource) {
      return Refuse(retval, "gives an argument");
    }
    return absl::OkStatus();
  }

  absl::Status AddKernel(const Node& node, uint32_t number) {
    if (node.IsOp("_CopyToDevice")) return AddUpload(node, number);
    if (node.IsOp("_CopyToHost")) return AddDownload(node, number);
    if (ComputesAlone(node.op())) return absl::OkStatus();
    if (!UsesHandlesAlone(node.op())) return Refuse(node, "does more than compute its outputs");
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (IsRef(node.input_type(i))) return Refuse(node, "takes a reference");
      if (node.input_type(i) != DType::kResource) continue;
      const Node& origin = OriginOf(node, i);
      if (RoleOf(origin) != NodeRole::kArg && !origin.op().Has(OpTrait::kMakesHandle)) {
        return Refuse(node, absl::StrCat("uses what '", origin.name(), "' makes"));
      }
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      if (IsRef(node.output_type(i))) return Refuse(node, "gives a reference");
      if (!node.op().Has(OpTrait::kMakesHandle) || node.output_type(i) != DType::kResource) {
        continue;
      }
      RETURN_IF_ERROR(AddHandle(node, {.arg = -1, .node = number, .output = i}));
    }
    return absl::OkStatus();
  }

  absl::Status AddUpload(const Node& node, uint32_t number) {
    const Node& from = *node.input(0).node;
    CapturePlan::Upload upload{number, -1};
    if (RoleOf(from) == NodeRole::kArg) {
      ASSIGN_OR_RETURN(upload.arg, IndexOf(from));
    }
    plan_.uploads.push_back(upload);
    return absl::OkStatus();
  }

  absl::Status AddDownload(const Node& node, uint32_t number) {
    if (node.output_type(0) == DType::kVariant)
      return Refuse(node, "may hold tensors of the device");
    CapturePlan::Download download{number, {}};
    for (const Use& use : node.uses(0)) {
      if (RoleOf(*use.node) != NodeRole::kRetval) {
        return Refuse(*use.node, "reads on the host what the device computes");
      }
      ASSIGN_OR_RETURN(const int result, IndexOf(*use.node));
      download.results.push_back(result);
    }
    plan_.downloads.push_back(std::move(download));
    return absl::OkStatus();
  }

  CapturePlan plan_;
};

}  // namespace

absl::StatusOr<CapturePlan> PlanCapture(const CompiledGraph& graph,
                                        const BoundaryMemory& boundary) {
  return CapturePlanner(boundary).Run(graph);
}

}  // namespace tessera

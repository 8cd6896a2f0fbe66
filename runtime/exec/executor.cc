#include "runtime/exec/executor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/device/capture/work_capture.h"
#include "runtime/exec/capture_plan.h"
#include "runtime/exec/compiled_graph.h"
#include "runtime/exec/dataflow_executor.h"
#include "runtime/exec/partitioned_executor.h"
#include "runtime/exec/planner.h"
#include "runtime/exec/straight_executor.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<Executor>> Compile(const Graph& graph,
                                                  const CompileOptions& options) {
  ASSIGN_OR_RETURN(CompiledGraph compiled, CreateKernels(graph, options));
  const bool straight = options.kind == ExecutorKind::kStraightThrough ||
                        (options.kind == ExecutorKind::kAuto && compiled.needs_dataflow.empty());
  if (straight) {
    std::optional<CapturePlan> capture;
    if (dynamic_cast<const CapturingDevice*>(options.device) != nullptr) {
      if (auto plan = PlanCapture(compiled, options.boundary); plan.ok())
        capture = *std::move(plan);
    }
    ASSIGN_OR_RETURN(StraightProgram program, LayOutStraight(std::move(compiled)));
    return MakeStraightExecutor(std::move(program), options.device, std::move(capture));
  }
  ASSIGN_OR_RETURN(DataflowProgram program, LayOutDataflow(std::move(compiled)));
  return MakeDataflowExecutor(std::move(program), options.device);
}

absl::StatusOr<std::unique_ptr<Executor>> CompilePlan(const Plan& plan,
                                                      absl::Span<Device* const> devices,
                                                      PartsMeet meet, CompileOptions options) {
  options.boundary = plan.boundary;
  std::vector<std::unique_ptr<Executor>> executors;
  for (const Plan::Part& part : plan.parts) {
    const auto device = std::find_if(devices.begin(), devices.end(), [&part](const Device* d) {
      return d->full_name() == part.device;
    });
    if (device == devices.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("part of the graph is on '", part.device, "', which is not here"));
    }
    options.device = *device;
    ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor, Compile(*part.graph, options));
    executors.push_back(std::move(executor));
  }
  if (executors.size() == 1) return std::move(executors[0]);
  return MakePartitionedExecutor(std::move(executors), meet);
}

}  // namespace tessera

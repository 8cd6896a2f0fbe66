#include "runtime/exec/executor.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/exec/compiled_graph.h"
#include "runtime/exec/dataflow_executor.h"
#include "runtime/exec/straight_executor.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<Executor>> Compile(const Graph& graph,
                                                  const CompileOptions& options) {
  ASSIGN_OR_RETURN(CompiledGraph compiled, CreateKernels(graph, options));
  const bool straight = options.kind == ExecutorKind::kStraightThrough ||
                        (options.kind == ExecutorKind::kAuto && compiled.needs_dataflow.empty());
  if (straight) {
    ASSIGN_OR_RETURN(StraightProgram program, LayOutStraight(std::move(compiled)));
    return MakeStraightExecutor(std::move(program), options.device);
  }
  ASSIGN_OR_RETURN(DataflowProgram program, LayOutDataflow(std::move(compiled)));
  return MakeDataflowExecutor(std::move(program), options.device);
}

}  // namespace tessera

// The graph of dataset ops that runs a pipeline.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/training/pipeline/pipeline_plan.h"

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

// Names in the graph.
inline constexpr char kPipelineStart[] = "start";        // target: begins at the first epoch
inline constexpr char kPipelineNext[] = "next";          // outputs: the fields of the next batch
inline constexpr char kPipelineSave[] = "save";          // output: the position, one variant
inline constexpr char kPipelinePosition[] = "position";  // placeholder: a position ...
inline constexpr char kPipelineRestore[] = "restore";    // ... and the target that goes there

// Writes the graph to *graph. A batch without rows stands for the end of an epoch; the epochs never
// end. Errors: those of building nodes, which are bugs.
absl::Status BuildPipelineGraph(const PipelinePlan& plan, int64_t batch_size, int64_t seed,
                                tensorflow::GraphDef* graph);

}  // namespace tessera

// Arithmetic on shapes stays in host memory.
#pragma once

#include "absl/status/status.h"
#include "runtime/exec/node_memory.h"
#include "runtime/framework/device.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Marks (kOnHost) the nodes of a device's part that compute with integers which lie in host memory,
// such as a shape or a size, for somebody who wants them there, such as Reshape. Without the mark,
// the device would compute a few numbers, and the host would wait for it to read them; the work of
// such a program cannot be captured (capture_plan.h). Values that only the device reads, and
// arguments of a run, which may be large, are left to the device.
// Call it before InsertCopies(). Does nothing for a device that has host memory alone.
absl::Status KeepShapeArithmeticOnHost(const Device& device, const BoundaryMemory& boundary,
                                       Graph* graph);

}  // namespace tessera

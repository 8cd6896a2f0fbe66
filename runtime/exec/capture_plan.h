// Whether the work of a program can be captured by its device.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/exec/compiled_graph.h"
#include "runtime/exec/node_memory.h"

namespace tessera {

// How a straight-through program meets the host and the device's state when its work is captured.
// Nodes are numbered as in StraightProgram, in ascending order.
struct CapturePlan {
  // A `_CopyToDevice` node.
  struct Upload {
    uint32_t node;
    int arg;  // which argument it copies; -1: a value that depends on the arguments' shapes alone
  };
  // A `_CopyToHost` node.
  struct Download {
    uint32_t node;
    std::vector<int> results;  // which get its value
  };
  // The origin of a variable's handle.
  struct Handle {
    int arg;        // an argument; -1: a node
    uint32_t node;  // that gives it as an output
    int output;
    bool is_written;  // the variable
  };
  std::vector<Upload> uploads;
  std::vector<Download> downloads;
  std::vector<Handle> handles;
  // The arguments and results of a function lie in the memory of the device, where they can; the
  // caller does not wait for its work.
  BoundaryMemory boundary;
};

// Captured work can be enqueued again for other arguments of the same shapes if nothing but the
// elements of tensors on the device differs then: each argument is copied to the device and read
// there alone, what comes back from the device is a result, and every node computes its outputs
// from its inputs, from variables whose values lie on the device, and from random numbers that it
// draws. Errors: FAILED_PRECONDITION, naming the node that stands against it.
absl::StatusOr<CapturePlan> PlanCapture(const CompiledGraph& graph, const BoundaryMemory& boundary);

}  // namespace tessera

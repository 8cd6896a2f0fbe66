// Copies between the memory kinds of one device.
#pragma once

#include "absl/status/status.h"
#include "runtime/exec/node_memory.h"
#include "runtime/framework/device.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Puts a `_CopyToHost` or `_CopyToDevice` node on every edge of `graph`, all of whose nodes run on
// `device`, where a node gives a value in another memory kind than the next one takes. A value that
// several nodes want is copied once. What host memory is wanted of a Const becomes a HostConst.
// A `_CopyToHost` also stands where a variant leaves the device, by a Send or as a result on the
// host: the tensors that it holds must come with it.
// Does nothing for a device that has host memory alone.
// Errors: those of MemoryOfNode().
absl::Status InsertCopies(const Device& device, const BoundaryMemory& boundary, Graph* graph);

}  // namespace tessera

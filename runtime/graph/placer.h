// Assigns every node a device.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "runtime/framework/device.h"
#include "runtime/graph/graph.h"

namespace tessera {

struct PlacementOptions {
  // If true, a node that asks for a device that does not exist or has no kernel for it is placed on
  // another device, and so are nodes that must be together but ask for different devices. If false,
  // this is an error.
  bool allow_soft_placement = true;
  // Logs one line for each node.
  bool log_device_placement = false;
};

// Sets the device of each node to the full name of one of `devices`. A node is placed on the device
// that it asks for, possibly by a partial name, and together with the nodes that it must be with:
// those that it is colocated with (`_class: "loc:@node"`), the other ends of its reference edges
// and resource edges, and other nodes that make the same resource (resource_names.h). Where these
// ask for different devices, the node that gives the resource decides. A node that asks for nothing
// is placed on the first device that has a kernel for it; a call that passes resources on to
// functions only where there are kernels for all that works on the resources in their bodies. A
// node without a kernel on any device, such as an argument or an unknown op, is placed where it
// asks to be, or on the first device. Requires at least one device. Errors: INVALID_ARGUMENT with
// the node, the device that it asks for and the devices there are.
absl::Status Place(const std::vector<Device*>& devices, const PlacementOptions& options,
                   Graph* graph);

}  // namespace tessera

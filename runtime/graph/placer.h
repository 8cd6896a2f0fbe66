// Assigns every node a device.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "runtime/framework/device.h"
#include "runtime/graph/graph.h"

namespace tessera {

struct PlacementOptions {
  // A node whose device does not exist or has no kernel for it goes to one that has; so do nodes
  // that must be together but ask for different devices.
  bool allow_soft_placement = true;
  // One log line a node.
  bool log_device_placement = false;
};

// Sets each node's device to a full name. Honours what a node asks for (parts may be open),
// colocation (`_class: "loc:@node"`, reference edges, resource edges), and, where nothing is said,
// takes the first device in `devices` that has kernels. A node without a kernel on any device
// (arguments, calls, ops yet unknown) goes where it asks to, or to the first device.
// Requires a device at least, with full names.
// Errors: INVALID_ARGUMENT naming the node, the device it asks for and those there are.
absl::Status Place(const std::vector<Device*>& devices, const PlacementOptions& options,
                   Graph* graph);

}  // namespace tessera

// Splits a placed graph by device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

struct PartitionOptions {
  // Returns the name of the part to which a node belongs. If null, that is its device.
  std::function<std::string(const Node&)> part_of;
  // Returns the incarnation of a device, a number that changes when the device restarts. It is part
  // of the key under which a tensor is sent. If null, each incarnation is 1.
  std::function<uint64_t(const std::string& device)> incarnation;
};

// Returns one graph for each part. An edge between two parts becomes a pair of `_Send` and `_Recv`
// nodes (attributes tensor_name, send_device, recv_device, send_device_incarnation,
// client_terminated); a control edge becomes a pair that carries an empty tensor. A value that
// several nodes of one part use is sent once. A part that has nodes of a v1 loop but not its
// condition gets a loop of its own, whose condition is received from the part that has it. Errors:
// INVALID_ARGUMENT for a node without a device, a reference edge that crosses, or a loop without a
// condition.
absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> Partition(
    const Graph& graph, const PartitionOptions& options = {});

}  // namespace tessera

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
  // Which part a node belongs to. Null: its device.
  std::function<std::string(const Node&)> part_of;
  // The number that tells a device's present life from earlier ones, part of what names an edge.
  // Null: 1 for each.
  std::function<uint64_t(const std::string& device)> incarnation;
};

// One graph a part; edges that cross become `_Send` and `_Recv` pairs (attributes tensor_name,
// send_device, recv_device, send_device_incarnation, client_terminated), control edges carry an
// empty tensor. An edge to several nodes of one part is sent once. A part that takes part in a v1
// loop without running it gets a loop of its own, which follows the real one's condition.
// Errors: INVALID_ARGUMENT for a node without a device, a reference edge that crosses, or a loop
// without a condition.
absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> Partition(
    const Graph& graph, const PartitionOptions& options);
// One part a device.
absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> PartitionByDevice(const Graph& graph);

}  // namespace tessera

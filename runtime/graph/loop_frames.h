// Frames of v1 loops: what Enter opens and Exit leaves.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

struct LoopFrame {
  std::string name;  // `frame_name` of its Enter nodes
  int parent = -1;   // index of the frame around it; -1: none
  int parallel_iterations = 10;
  std::vector<Node*> enters;  // which run in the parent frame
  Node* condition = nullptr;  // its LoopCond; null if it has none
};

struct LoopFrames {
  std::vector<LoopFrame> frames;
  // By node id: the frame that a node runs in, -1 outside all loops. An Enter runs in the frame
  // that it comes from, an Exit in the one that it leaves.
  std::vector<int> frame_of;
  // By node id: the frame that the node's outputs are in. Differs for Enter and Exit.
  std::vector<int> frame_after;
};

// Errors: INVALID_ARGUMENT for cycles outside loops, an Exit outside a loop, or a node whose inputs
// come from different loops.
absl::StatusOr<LoopFrames> FindLoopFrames(const Graph& graph);

}  // namespace tessera

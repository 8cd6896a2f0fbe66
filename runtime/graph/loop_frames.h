// Finds the frames of v1 loops. A frame is entered by Enter nodes and left by Exit nodes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/graph/graph.h"

namespace tessera {

struct LoopFrame {
  std::string name;  // the attribute `frame_name` of its Enter nodes
  int parent = -1;   // index of the enclosing frame; -1 if there is none
  int parallel_iterations = 10;
  std::vector<Node*> enters;  // the Enter nodes; they run in the parent frame
  Node* condition = nullptr;  // the LoopCond; null if the loop has none
};

struct LoopFrames {
  std::vector<LoopFrame> frames;
  // Indexed by node id: the frame in which a node runs; -1 outside all loops. An Enter runs in the
  // frame that its input comes from, an Exit in the frame that it leaves.
  std::vector<int> frame_of;
  // Indexed by node id: the frame to which the outputs of a node belong. It differs from `frame_of`
  // for Enter and Exit nodes.
  std::vector<int> frame_after;
};

// Errors: INVALID_ARGUMENT for cycles outside loops, an Exit outside a loop, or a node whose inputs
// come from different loops.
absl::StatusOr<LoopFrames> FindLoopFrames(const Graph& graph);

}  // namespace tessera

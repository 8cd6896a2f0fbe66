#include "runtime/graph/loop_frames.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/control_flow_nodes.h"
#include "runtime/graph/graph_algorithms.h"

namespace tessera {
namespace {

class FrameFinder {
 public:
  explicit FrameFinder(const Graph& graph) : graph_(graph) {
    result_.frame_of.assign(graph.id_bound(), -1);
    visited_.assign(graph.id_bound(), false);
    result_.frame_after.assign(graph.id_bound(), -1);
  }

  absl::StatusOr<LoopFrames> Find() && {
    ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(graph_));
    for (Node* node : order) RETURN_IF_ERROR(Visit(node));
    return std::move(result_);
  }

 private:
  absl::Status Visit(Node* node) {
    int frame = -1;
    auto join = [&](const Node* from) -> absl::Status {
      // The order has the sources of all but back edges before, and those stay in the frame.
      if (!visited_[from->id()]) return absl::OkStatus();
      const int other = result_.frame_after[from->id()];
      // Values from outside of all loops may only come in through Enter, but control edges from
      // there are harmless.
      if (other < 0 || other == frame) return absl::OkStatus();
      if (frame >= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("node '", node->name(), "' has inputs from the loops '",
                         result_.frames[frame].name, "' and '", result_.frames[other].name, "'"));
      }
      frame = other;
      return absl::OkStatus();
    };
    for (const Endpoint& input : node->inputs()) {
      if (input.node != nullptr) RETURN_IF_ERROR(join(input.node));
    }
    for (const Node* control : node->control_inputs()) RETURN_IF_ERROR(join(control));
    visited_[node->id()] = true;
    result_.frame_of[node->id()] = frame;
    if (IsEnter(*node)) return Open(node, frame);
    if (node->IsOp("LoopCond") && frame >= 0) result_.frames[frame].condition = node;
    result_.frame_after[node->id()] = frame;
    if (!IsExit(*node)) return absl::OkStatus();
    if (frame < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("node '", node->name(), "' (Exit) leaves no loop"));
    }
    result_.frame_after[node->id()] = result_.frames[frame].parent;
    return absl::OkStatus();
  }

  absl::Status Open(Node* enter, int parent) {
    ASSIGN_OR_RETURN(const std::string name, enter->attr<std::string>("frame_name"));
    auto [it, is_new] =
        by_name_.emplace(std::make_pair(parent, name), static_cast<int>(result_.frames.size()));
    if (is_new) {
      LoopFrame frame{.name = name, .parent = parent};
      ASSIGN_OR_RETURN(const int64_t parallel, enter->attr<int64_t>("parallel_iterations"));
      frame.parallel_iterations = static_cast<int>(parallel);
      result_.frames.push_back(std::move(frame));
    }
    result_.frames[it->second].enters.push_back(enter);
    result_.frame_after[enter->id()] = it->second;
    return absl::OkStatus();
  }

  const Graph& graph_;
  std::vector<bool> visited_;  // by node id
  absl::flat_hash_map<std::pair<int, std::string>, int> by_name_;
  LoopFrames result_;
};

}  // namespace

absl::StatusOr<LoopFrames> FindLoopFrames(const Graph& graph) { return FrameFinder(graph).Find(); }

}  // namespace tessera

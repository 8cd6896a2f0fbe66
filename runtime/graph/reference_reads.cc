#include "runtime/graph/reference_reads.h"

#include <map>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/graph/loop_frames.h"

namespace tessera {
namespace {

// A v1 variable as a graph uses it.
struct ReferenceUses {
  Endpoint reference;             // the output of the variable's node
  std::vector<Node*> identities;  // nodes that hand on its value
  std::vector<Node*> writers;
};

// Follows the references of a variable, also through writers and nodes that hand them on.
ReferenceUses FindUses(Endpoint reference) {
  ReferenceUses found{reference, {}, {}};
  std::vector<Endpoint> pending = {reference};
  while (!pending.empty()) {
    const Endpoint from = pending.back();
    pending.pop_back();
    for (const Use& use : from.node->uses(from.index)) {
      Node* const node = use.node;
      const ArgUse how = InputUse(node->op(), node->attrs(), use.index);
      const bool is_writer = how == ArgUse::kWritten && IsRef(node->input_type(use.index));
      if (is_writer) found.writers.push_back(node);
      if (node->num_outputs() != 1) continue;
      const bool gives_reference = IsRef(node->output_type(0));
      if (how == ArgUse::kForwarded && !gives_reference) found.identities.push_back(node);
      if (how == ArgUse::kForwarded || (is_writer && gives_reference)) pending.push_back({node, 0});
    }
  }
  return found;
}

// Indexed by node id: whether the node runs behind `start`.
std::vector<bool> Descendants(const Graph& graph, Node* start) {
  std::vector<bool> reached(graph.id_bound());
  std::vector<Node*> pending = {start};
  auto visit = [&](Node* node) {
    if (reached[node->id()]) return;
    reached[node->id()] = true;
    pending.push_back(node);
  };
  while (!pending.empty()) {
    Node* const node = pending.back();
    pending.pop_back();
    for (int i = 0; i < node->num_outputs(); ++i) {
      for (const Use& use : node->uses(i)) visit(use.node);
    }
    for (Node* next : node->control_outputs()) visit(next);
  }
  return reached;
}

// Rewires the uses of one variable's value.
class Rewiring {
 public:
  Rewiring(Graph* graph, const LoopFrames& frames, ReferenceUses uses)
      : graph_(*graph), frames_(frames), uses_(std::move(uses)) {
    for (Node* writer : uses_.writers) behind_.push_back(Descendants(graph_, writer));
  }

  absl::Status Run() {
    for (Node* identity : uses_.identities) {
      const std::vector<Use> uses = identity->uses(0);
      for (const Use& use : uses) RETURN_IF_ERROR(Rewire(identity, use));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Rewire(Node* identity, const Use& use) {
    std::vector<Node*> writers;
    for (size_t i = 0; i < behind_.size(); ++i) {
      if (IsBehind(use.node, i) && !IsBehind(identity, i)) writers.push_back(uses_.writers[i]);
    }
    if (writers.empty()) return absl::OkStatus();
    Node*& late = late_[writers];
    if (late == nullptr) {
      ASSIGN_OR_RETURN(late, graph_.AddNode(graph_.UniqueName(identity->name()), "Identity",
                                            {{"T", identity->output_type(0)}}, {uses_.reference},
                                            identity->device()));
      for (Node* writer : writers) graph_.AddControlEdge(writer, late);
    }
    return graph_.Connect({late, 0}, use.node, use.index);
  }

  // Whether a node runs behind writer i, both in the loop of the variable.
  bool IsBehind(const Node* node, size_t i) const {
    const auto& frame_of = frames_.frame_of;
    const size_t id = static_cast<size_t>(node->id());
    if (id >= frame_of.size() || !behind_[i][id]) return false;  // the former was added here
    const int frame = frames_.frame_after[uses_.reference.node->id()];
    return frame_of[id] == frame && frame_of[uses_.writers[i]->id()] == frame;
  }

  Graph& graph_;
  const LoopFrames& frames_;
  const ReferenceUses uses_;
  std::vector<std::vector<bool>> behind_;     // for each writer
  std::map<std::vector<Node*>, Node*> late_;  // by the writers that they wait for
};

}  // namespace

absl::Status ReadReferencesBehindWrites(Graph* graph) {
  std::vector<ReferenceUses> variables;
  for (Node* node : graph->nodes()) {
    // Other outputs that are references hand one on.
    if (!node->op().Has(OpTrait::kMakesResource)) continue;
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (!IsRef(node->output_type(i))) continue;
      ReferenceUses uses = FindUses({node, i});
      if (!uses.writers.empty() && !uses.identities.empty()) variables.push_back(std::move(uses));
    }
  }
  if (variables.empty()) return absl::OkStatus();
  const absl::StatusOr<LoopFrames> frames = FindLoopFrames(*graph);
  // The executor refuses such a graph, and says why.
  if (!frames.ok()) return absl::OkStatus();
  for (ReferenceUses& uses : variables) {
    RETURN_IF_ERROR(Rewiring(graph, *frames, std::move(uses)).Run());
  }
  return absl::OkStatus();
}

}  // namespace tessera

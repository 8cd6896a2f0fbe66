// The work of AddGradients() on one graph: passes backwards over regions of it, and keeps which
// nodes belong to the backward pass.
//
// The formulas of ops use forward values freely, wherever these are computed. Afterwards the nodes
// of the backward pass that use forward values from inside a loop or a function are given copies of
// these values that the forward pass has kept: see Crossings(), loop_gradient.h and
// function_gradient.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "runtime/graph/loop_frames.h"
#include "runtime/training/gradients/condition_contexts.h"
#include "runtime/training/gradients/gradient_op.h"
#include "runtime/training/gradients/gradients.h"
#include "runtime/training/gradients/graph_builder.h"
#include "runtime/training/gradients/static_shapes.h"

namespace tessera {

// A part of a graph between `xs` and `ys`.
struct DifferentiatedRegion {
  std::vector<Endpoint> ys;
  std::vector<Gradient> grad_ys;  // one for each y
  std::vector<Endpoint> xs;
  std::vector<Endpoint> stops;  // no gradient flows back through these
  int frame = -1;               // the loop whose body this is a part of, see FindLoopFrames()
};

// Not thread-safe.
class Differentiation {
 public:
  // Nodes that are added to `graph` are named "name/...".
  // Errors: those of FindLoopFrames().
  static absl::StatusOr<std::unique_ptr<Differentiation>> Create(
      Graph* graph, std::string name, std::function<bool(const Node&)> recompute);

  // Returns a gradient for each x of the region.
  absl::StatusOr<std::vector<Gradient>> Run(const DifferentiatedRegion& region);

  Graph* graph() const { return graph_; }
  const std::string& name() const { return name_; }
  const std::function<bool(const Node&)>& recompute() const { return recompute_; }
  const LoopFrames& frames() const { return frames_; }
  const ConditionContexts& conditions() const { return conditions_; }
  const StaticShapes& shapes() const { return shapes_; }
  // Adds nodes of the backward pass, and nodes that the forward pass needs to keep values.
  GraphBuilder& backward() { return backward_builder_; }
  GraphBuilder& forward() { return forward_builder_; }
  bool IsBackward(const Node* node) const { return backward_.contains(node); }
  // Counts a node that backward() did not add as one of the backward pass.
  void AddToBackward(const Node* node) { backward_.insert(node); }
  // True if the node was in the graph before the differentiation.
  bool IsOriginal(const Node* node) const { return node->id() < original_bound_; }

  // Replaces a node of the forward pass by one of the same name, whose first inputs and outputs are
  // those of the old one, and whose further inputs are `inputs`. Endpoints of the old node are no
  // longer valid. Returns the new node. Errors: those of Graph::AddNode() and Graph::Connect().
  absl::StatusOr<Node*> Replace(Node* node, absl::string_view op, AttrMap attrs,
                                const std::vector<Expr>& inputs);

  // Settles how the backward nodes whose id is at least `first_id` get at forward values: nodes
  // that look only at shapes of forward values become forward nodes, and values that are chosen for
  // recomputation are computed again.
  absl::Status SettleForwardValues(int first_id);
  // Returns the inputs of backward nodes, from `first_id` on, that are connected to forward nodes.
  std::vector<Use> Crossings(int first_id) const;

 private:
  class Pass;

  Differentiation(Graph* graph, std::string name, std::function<bool(const Node&)> recompute,
                  LoopFrames frames);
  void HoistShapes(int first_id);
  absl::Status Recompute(int first_id);
  absl::StatusOr<Node*> Copy(Node* node, Node* after, absl::flat_hash_map<Node*, Node*>* copies);
  bool IsRecomputed(const Node& node) const;

  Graph* const graph_;
  const std::string name_;
  const std::function<bool(const Node&)> recompute_;
  const LoopFrames frames_;
  const ConditionContexts conditions_;
  const StaticShapes shapes_;
  const int original_bound_;
  absl::flat_hash_set<const Node*> backward_;
  GraphBuilder backward_builder_;
  GraphBuilder forward_builder_;
};

}  // namespace tessera

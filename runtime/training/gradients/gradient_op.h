// The gradient of one op: what a formula sees of a node of the forward graph, and where it puts the
// gradients of the inputs.
//
//   void TanhGradient(GradientOp& op) { op.Set(0, Call("TanhGrad", {op.out(), op.dy()})); }
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/training/gradients/gradients.h"
#include "runtime/training/gradients/graph_builder.h"
#include "runtime/training/gradients/static_shapes.h"

namespace tessera {

class Differentiation;

// Thread-compatible. All values are empty after an error, see GraphBuilder.
class GradientOp {
 public:
  // `gradients` are those of the node's outputs. `wanted[i]` says whether the gradient of input i
  // leads to an x.
  GradientOp(Differentiation* differentiation, GraphBuilder* builder, Node* node,
             std::vector<Gradient> gradients, std::vector<bool> wanted)
      : differentiation_(differentiation),
        builder_(*builder),
        node_(node),
        gradients_(std::move(gradients)),
        wanted_(std::move(wanted)),
        results_(node->num_inputs()) {}

  Node* node() const { return node_; }
  GraphBuilder& build() { return builder_; }
  // Returns the differentiation under way, with which functions and loops differentiate their
  // bodies.
  Differentiation& differentiation() { return *differentiation_; }
  // Fails the whole differentiation. The message gets the node's name.
  void Fail(absl::Status status) { builder_.Fail(std::move(status)); }

  // An attribute of the node. A missing one is an error.
  template <typename T>
  T attr(absl::string_view name) {
    absl::StatusOr<T> value = node_->attr<T>(name);
    if (value.ok()) return *std::move(value);
    Fail(value.status());
    return T();
  }
  // Calls an op with the attributes of this node that it declares as well, and with `more`.
  Expr CallAlike(absl::string_view name, std::initializer_list<Expr> inputs, AttrMap more = {},
                 int output = 0);

  int num_inputs() const { return node_->num_inputs(); }
  int num_outputs() const { return node_->num_outputs(); }
  // The forward values.
  Expr in(int i) { return builder_.Of(node_->input(i)); }
  Expr out(int i = 0) { return builder_.Of({node_, i}); }
  // Empty if nothing is known of the rank.
  PartialShape StaticShape(const Expr& forward) const;

  // The gradient of an output, as a dense tensor: zeros if no y depends on the output.
  Expr dy(int i = 0);
  bool HasDy(int i) const { return !gradients_[i].is_none(); }
  const Gradient& gradient(int i) const { return gradients_[i]; }

  // True if the gradient of the input leads to an x. Others may be left out.
  bool Wants(int i) const { return wanted_[i]; }
  // An input whose gradient is not set has none.
  void Set(int i, const Expr& dx) { results_[i] = {.values = dx.endpoint()}; }
  void Set(int i, Gradient dx) { results_[i] = std::move(dx); }
  void SetSlices(int i, const Expr& values, const Expr& indices, const Expr& dense_shape) {
    results_[i] = {values.endpoint(), indices.endpoint(), dense_shape.endpoint()};
  }
  // For an op that broadcasts inputs `i` and `j`: sets their gradients, given as the shape of the
  // output, summed over the dimensions along which the input was repeated. An empty value sets
  // none.
  void SetBroadcast(int i, const Expr& di, int j, const Expr& dj);

  std::vector<Gradient> TakeResults() { return std::move(results_); }

 private:
  // Sums `d`, which has the shape of the output, to the shape of input `i`.
  Expr Unbroadcast(const Expr& d, int i, int other);

  Differentiation* const differentiation_;
  GraphBuilder& builder_;
  Node* const node_;
  std::vector<Gradient> gradients_;
  const std::vector<bool> wanted_;
  std::vector<Gradient> results_;
};

// The sum of slices as a dense tensor.
Expr DenseGradient(GraphBuilder& build, const Gradient& gradient);

}  // namespace tessera

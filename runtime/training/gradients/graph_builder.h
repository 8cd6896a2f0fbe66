// Builds nodes by expressions, for formulas.
//
//   GraphBuilder build(&graph, "gradients");
//   Expr x = build.Of(endpoint);
//   Expr dx = dy * Call("Cos", {x});               // Mul and Cos nodes
//   Expr half = Call("Sum", {0.5 * x, axes}, {{"keep_dims", true}});
//   RETURN_IF_ERROR(build.status());
//
// After an error, which status() keeps, all operations give empty values and add nothing.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/graph/graph.h"

namespace tessera {

class GraphBuilder;

// An output of a node that more nodes can be built on; empty after an error. Valid as long as its
// builder. Its dtype is never a reference.
class Expr {
 public:
  Expr() = default;
  Expr(Endpoint endpoint, GraphBuilder* builder) : endpoint_(endpoint), builder_(builder) {}

  bool empty() const { return endpoint_.node == nullptr; }
  const Endpoint& endpoint() const { return endpoint_; }
  GraphBuilder* builder() const { return builder_; }
  DType dtype() const;

 private:
  Endpoint endpoint_;
  GraphBuilder* builder_ = nullptr;
};

// Not thread-safe.
class GraphBuilder {
 public:
  // Names of nodes are "prefix/Op", made unique. The set gets all nodes that are added; it may be
  // null.
  GraphBuilder(Graph* graph, std::string prefix, absl::flat_hash_set<const Node*>* added = nullptr)
      : graph_(graph), prefix_(std::move(prefix)), added_(added) {}

  Graph* graph() const { return graph_; }
  const std::string& prefix() const { return prefix_; }
  // The device that new nodes ask for.
  void set_device(std::string device) { device_ = std::move(device); }
  const absl::Status& status() const { return status_; }
  // Keeps the first error.
  void Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  Expr Of(Endpoint endpoint) { return Expr(endpoint, this); }

  // Adds a node. Attributes that say the dtypes or the number of inputs are inferred from `inputs`
  // unless `attrs` has them; an op with several lists among its inputs needs their lengths in
  // `attrs`. Returns null after an error.
  Node* AddNode(absl::string_view op, absl::Span<const Expr> inputs, AttrMap attrs = {});
  // Adds a node whose inputs are connected later: loops need it. All of `attrs` must be given.
  Node* AddOpenNode(absl::string_view op, AttrMap attrs);
  void Connect(const Expr& from, Node* to, int input);
  // Returns output `index` of a node that AddNode() gave.
  Expr Output(Node* node, int index = 0);

  Expr Constant(Tensor value);
  // A scalar of a numeric dtype.
  Expr Scalar(DType dtype, double value);
  Expr Int(int32_t value) { return Scalar(DType::kInt32, value); }
  Expr Ints(absl::Span<const int32_t> values) { return Constant(Tensor::Vector<int32_t>(values)); }

 private:
  Graph* const graph_;
  const std::string prefix_;
  absl::flat_hash_set<const Node*>* const added_;
  std::string device_;
  absl::Status status_;
};

// Adds a node of `op` to the graph of its inputs and returns one of its outputs. See
// GraphBuilder::AddNode(). Requires at least one input.
Expr Call(absl::string_view op, absl::Span<const Expr> inputs, AttrMap attrs = {}, int output = 0);
inline Expr Call(absl::string_view op, std::initializer_list<Expr> inputs, AttrMap attrs = {},
                 int output = 0) {
  return Call(op, absl::Span<const Expr>(inputs.begin(), inputs.size()), std::move(attrs), output);
}
// Returns all outputs of the new node.
std::vector<Expr> CallAll(absl::string_view op, absl::Span<const Expr> inputs, AttrMap attrs = {});

// Arithmetic. A number stands for a scalar of the other operand's dtype.
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator+(const Expr& a, double b);
Expr operator+(double a, const Expr& b);
Expr operator-(const Expr& a, double b);
Expr operator-(double a, const Expr& b);
Expr operator*(double a, const Expr& b);
Expr operator/(const Expr& a, double b);
Expr operator/(double a, const Expr& b);

// The shape as an int32 or int64 vector.
Expr ShapeOf(const Expr& x, DType dtype = DType::kInt32);
Expr ZerosLike(const Expr& x);
Expr OnesLike(const Expr& x);
// Converts to another dtype; returns `x` itself if it has that dtype.
Expr CastTo(const Expr& x, DType dtype);
Expr Reshape(const Expr& x, const Expr& shape);
// Sums over `axes`, an int32 or int64 vector.
Expr SumOver(const Expr& x, const Expr& axes, bool keep_dims = false);
Expr ExpandDims(const Expr& x, int axis);
// The complex conjugate; `x` itself if it is real.
Expr Conjugate(const Expr& x);
Expr Concat(absl::Span<const Expr> values, int axis);
// Element-wise: `condition` ? `a` : `b`, broadcast together.
Expr Where(const Expr& condition, const Expr& a, const Expr& b);
// x[begin:end] of a vector; `end` is counted from the end if it is not positive.
Expr SliceVector(const Expr& x, int begin, int end);

}  // namespace tessera

// The gradient of a function: its body is differentiated as a graph, and cut into two functions.
//
// The forward function gives, behind its own results, the values that the backward pass needs. The
// backward function takes these and the gradients of the results, and gives the gradients of the
// arguments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "runtime/graph/function.h"
#include "runtime/training/gradients/differentiation.h"

namespace tessera {

// The differentiated body of one function. Not thread-safe.
class FunctionGradient {
 public:
  // Differentiates a function of the library of the caller's graph, with respect to the arguments
  // `xs`, for gradients that come in for the results `ys`. Sparse gradients become dense unless
  // `keep_slices`. The caller's library gets the functions that the body needs. Errors: those of
  // Instantiate() and of Differentiation::Run().
  static absl::StatusOr<std::unique_ptr<FunctionGradient>> Make(Differentiation& caller,
                                                                const FunctionRef& function,
                                                                std::vector<int> ys,
                                                                std::vector<int> xs,
                                                                bool keep_slices = false);

  const FunctionBody& body() const { return body_; }
  // The incoming gradients, in the order of `ys`, and what comes out, in the order of `xs`: empty
  // values where an argument has no gradient. Behind them stand the indices and dense shapes of
  // sparse gradients.
  const std::vector<Expr>& incoming() const { return incoming_; }
  std::vector<Expr>& outgoing() { return outgoing_; }
  // Returns the position of a sparse gradient's indices in outgoing(), with the dense shape behind
  // them; -1 for a dense gradient.
  int indices_of(int x) const { return indices_of_[x]; }
  GraphBuilder& build() { return differentiation_->backward(); }

  // Finds the values of the forward pass that the backward function needs. Must be called after
  // `outgoing()` is complete and before the functions below.
  absl::Status FindKept();
  // Values of the forward body, arguments included.
  const std::vector<Endpoint>& kept() const { return kept_; }

  // A copy of the body to be completed, whose nodes have the ids of those in body().
  struct Part {
    std::unique_ptr<Graph> graph;
    std::vector<Node*> args, results, control_results;
  };
  // The forward pass alone, with its own arguments and results.
  Part Forward() const;
  // The backward pass. Its arguments are the values `kept`, each with its place in `arguments` of
  // the dtypes `types`, and the incoming gradients, from place `first_gradient` on. Its results are
  // the gradients `outgoing()` that are not empty.
  absl::StatusOr<Part> Backward(const std::vector<DType>& types,
                                const absl::flat_hash_map<Endpoint, int>& places,
                                int first_gradient) const;

 private:
  FunctionGradient() = default;

  FunctionBody body_;
  std::unique_ptr<Differentiation> differentiation_;
  int first_id_ = 0;
  std::vector<Expr> incoming_, outgoing_;
  std::vector<int> indices_of_;  // by x
  std::vector<Endpoint> kept_;
};

// Adds an argument or a result to a part.
absl::StatusOr<Endpoint> AddArgument(FunctionGradient::Part* part, DType dtype);
absl::Status AddResult(FunctionGradient::Part* part, const Endpoint& value);
// Adds a function made of a part to the library of `graph`, and returns its name, which starts with
// `name`.
absl::StatusOr<FunctionRef> AddFunction(Graph* graph, absl::string_view name,
                                        const FunctionGradient::Part& part);

}  // namespace tessera

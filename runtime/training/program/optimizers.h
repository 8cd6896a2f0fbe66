// Optimizers that training adds to a graph, by the types of training::OptimizerSpec.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/training/gradients/gradients.h"
#include "runtime/training/gradients/graph_builder.h"
#include "runtime/training/program/training_variables.h"
#include "tessera/training/graph.pb.h"

namespace tessera {

// The nodes that an optimizer adds.
struct OptimizerNodes {
  std::vector<Node*> updates;            // of variables, slots and powers
  std::vector<AddedVariable> variables;  // slots and powers, with first values
};

// Errors: INVALID_ARGUMENT for an unknown type, with the nearest one, for a learning rate that is
// not over 0, and for parameters that the type does not have.
absl::Status CheckOptimizer(const training::OptimizerSpec& spec);

// Adds the nodes that update `variables` by `gradients`, none of which may be none. Updates wait
// for the node `gate`. Slots have the names that TF1's Saver gives them, such as
// "dense/kernel/Adam" and "beta1_power", and are resources or references as their variables are.
// Sparse gradients update the rows that they name and no others, unless the optimizer moves every
// row at every step, as Adam does. Errors: those of CheckOptimizer().
absl::StatusOr<OptimizerNodes> AddOptimizer(const training::OptimizerSpec& spec,
                                            GraphBuilder& build, const Expr& learning_rate,
                                            absl::Span<Node* const> variables,
                                            absl::Span<const Gradient> gradients, Node* gate);

}  // namespace tessera

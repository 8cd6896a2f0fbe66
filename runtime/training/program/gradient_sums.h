// Gradients that are added up over steps, and scaled, before variables change.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/training/gradients/gradients.h"
#include "runtime/training/gradients/graph_builder.h"
#include "runtime/training/program/training_program.h"
#include "runtime/training/program/training_variables.h"

namespace tessera {

// Adds the nodes of TrainingProgram::Update: each step adds its gradients to variables, and a run
// of its own, for which the host decides, updates from them. The loss scale is that of TensorFlow's
// DynamicLossScale: it halves, but not below 1, when a sum is no finite number, and doubles after
// so many updates in turn, as long as it stays finite.
//
//   GradientSums sums(options, build);
//   if (sums.is_needed()) RETURN_IF_ERROR(sums.AddScale());
//   ... AddGradients(graph, {loss}, xs, sums.LossGradients(loss))
//   RETURN_IF_ERROR(sums.AddSums(loss, variables, &gradients));
//   ... updates from `gradients`
//   RETURN_IF_ERROR(sums.Finish(updates, gate, &program));
class GradientSums {
 public:
  GradientSums(const ProgramOptions& options, GraphBuilder& build)
      : options_(options), build_(build), graph_(*build.graph()) {}

  bool is_needed() const { return options_.accumulate > 1 || options_.scales_loss; }
  // Adds the variables of the loss scale, if there is one.
  absl::Status AddScale();
  // Returns the gradients that come in for the loss; empty for ones.
  std::vector<Endpoint> LossGradients(const Endpoint& loss);
  // Adds the sums, and what adds to them after the loss and all gradients are computed. Replaces
  // *gradients, which become dense, by the means of what was added, without the scale.
  absl::Status AddSums(const Endpoint& loss, absl::Span<Node* const> variables,
                       std::vector<Gradient>* gradients);
  // Adds what follows `updates`, which wait for `gate`, and sets the program's train and update.
  absl::Status Finish(absl::Span<Node* const> updates, Node* gate, TrainingProgram* program);

  // The variables that were added.
  const std::vector<AddedVariable>& variables() const { return variables_; }

 private:
  absl::StatusOr<Node*> Add(const std::string& name, const PartialShape& shape, const Expr& value,
                            const std::string& device = "");
  // Assigns a value once `after` have run.
  Node* Set(Node* variable, const Expr& value, absl::Span<Node* const> after);
  absl::StatusOr<Node*> Join(const std::string& name, absl::Span<Node* const> nodes);
  Expr AreFinite();
  // Adds the targets that change the scale and clear the sums, once `after` have run.
  absl::StatusOr<std::vector<Node*>> ChangeScale(bool is_finite, absl::Span<Node* const> after);
  std::vector<Node*> Clear(absl::Span<Node* const> after);

  const ProgramOptions& options_;
  GraphBuilder& build_;
  Graph& graph_;
  Node* scale_ = nullptr;
  Node* num_good_ = nullptr;   // updates since the scale changed
  Node* num_added_ = nullptr;  // steps since the last update
  std::vector<Node*> sums_;
  Node* step_ = nullptr;
  Expr count_;  // num_added_ after the step
  std::vector<AddedVariable> variables_;
};

}  // namespace tessera

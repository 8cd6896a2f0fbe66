// The table of optimizers: which op each runs, and what the op's inputs are.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/training/graph.pb.h"

namespace tessera {

// A scalar: a field of training::OptimizerSpec with its default. It is always the default if
// `field` is empty.
struct OptimizerParameter {
  absl::string_view input;  // of the op
  absl::string_view field;
  double default_value = 0;
};

// A variable that an optimizer keeps for each trained one.
struct OptimizerSlot {
  absl::string_view input;  // of the op
  OptimizerParameter first_value;
};

struct OptimizerType {
  absl::string_view type;  // of training::OptimizerSpec
  // The optimizer in the names of the ops, such as ResourceSparseApplyMomentum.
  absl::string_view rule;
  // The slots are VARIABLE/SLOT_NAME, VARIABLE/SLOT_NAME_1, ...
  absl::string_view slot_name;
  absl::Span<const OptimizerSlot> slots;
  absl::Span<const OptimizerParameter> parameters;
  absl::string_view learning_rate = "lr";  // the input of the op
  bool nesterov = false;
  // Whether the ops for sparse gradients compute what the optimizer does with dense ones in the
  // rows that the gradients name. If not, sparse gradients become dense.
  bool sparse = true;
  // How many powers, beta1^t and beta2^t, it keeps.
  int powers = 0;
  // Weights decay by learning rate times `weight_decay` before the update.
  bool decays_weights = false;
};

// Errors: INVALID_ARGUMENT with the nearest type.
absl::StatusOr<const OptimizerType*> FindOptimizerType(absl::string_view type);

// Returns the value that a spec gives a parameter.
double ValueOf(const OptimizerParameter& parameter, const training::OptimizerSpec& spec);

// Errors: INVALID_ARGUMENT if the spec sets a field that its type does not have, naming those that
// it has, or sets one to a value that no optimizer can work with.
absl::Status CheckParameters(const OptimizerType& type, const training::OptimizerSpec& spec);

}  // namespace tessera

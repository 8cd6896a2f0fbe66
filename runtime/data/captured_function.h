// Calls of functions for each element of a dataset: the function of a map, a filter, a reduction.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/data/dataset.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Returns what the status of a map's function means for the map: true if there is an element, false
// if the function ended the dataset by OUT_OF_RANGE. A map that has an element for each of its
// input, `preserves_cardinality`, takes that for an error.
absl::StatusOr<bool> MapOutcome(const absl::Status& status, bool preserves_cardinality);

// A step of its own within `parent`, for one call of a function: an error in the call cancels the
// call alone, and what the call leaves in the step's resources goes with it. Cancelling the parent
// cancels the call. `parent` must outlive it.
class CallStep {
 public:
  explicit CallStep(StepContext& parent);
  ~CallStep();
  CallStep(const CallStep&) = delete;
  CallStep& operator=(const CallStep&) = delete;

  StepContext& context() { return context_; }

 private:
  CancellationManager* const parents_;  // may be null
  CancellationManager cancellation_;
  ResourceManager resources_;
  StepContext context_;
  CancellationManager::Token token_ = 0;
  bool registered_ = false;
};

// A function together with the values that it captured where the dataset was made; they follow its
// arguments. Immutable; thread-safe.
class CapturedFunction {
 public:
  // `function` lives as long as the session.
  CapturedFunction(const CallableFunction* function, std::vector<Tensor> captured)
      : function_(function), captured_(std::move(captured)) {}

  // Errors: INVALID_ARGUMENT unless the function takes `num_args` arguments before the captured
  // ones, and gives `num_results` results if that is not negative.
  absl::Status Check(int num_args, int num_results = -1) const;
  int num_results() const { return function_->num_results(); }
  // Consumes the arguments. Errors: the function's.
  absl::Status Call(StepContext& step, Element args, Element* results) const;
  // Calls a predicate. Errors: as above, and INVALID_ARGUMENT unless the result is a boolean
  // scalar, which it calls the result of `name`.
  absl::StatusOr<bool> Holds(StepContext& step, Element args, absl::string_view name) const;
  // Calls a function that gives a dataset. Errors: as above, and INVALID_ARGUMENT unless it gives
  // one whose elements fit `spec`.
  absl::StatusOr<DatasetPtr> MakeDataset(StepContext& step, Element args,
                                         const ElementSpec& spec) const;
  // Calls a function that gives an integer scalar. Errors: likewise.
  absl::StatusOr<int64_t> Number(StepContext& step, Element args, absl::string_view name) const;

 private:
  absl::StatusOr<Tensor> CallForOne(StepContext& step, Element args) const;

  const CallableFunction* const function_;
  const std::vector<Tensor> captured_;
};

}  // namespace tessera

// TrainingStep: one step of a program, prepared once.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/profile/tracer.h"
#include "runtime/training/pipeline/batch_source.h"
#include "runtime/training/program/training_program.h"

namespace tessera {

// Used by one thread at a time. Runs look up no names.
class TrainingStep {
 public:
  // `fields` are those of the batches; none if the graph reads its own data. `tracer` must outlive
  // the step. Errors: INVALID_ARGUMENT for fields that do not fit the program's inputs, and for a
  // program without a loss; those of compiling the step.
  static absl::StatusOr<std::unique_ptr<TrainingStep>> Make(const TrainingProgram& program,
                                                            const std::vector<BatchField>& fields,
                                                            Tracer* tracer);

  // Runs the step and returns the loss of the batch. Errors: those of kernels; DEADLINE_EXCEEDED.
  // The variables are unspecified after an error.
  absl::StatusOr<double> Run(const std::vector<Tensor>& batch, absl::Duration timeout);

 private:
  TrainingStep(std::vector<int> fields, std::vector<NamedTensor> constants,
               std::shared_ptr<const Callable> callable)
      : fields_(std::move(fields)),
        constants_(std::move(constants)),
        callable_(std::move(callable)) {}

  const std::vector<int> fields_;  // that are fed
  const std::vector<NamedTensor> constants_;
  const std::shared_ptr<const Callable> callable_;
  std::vector<Tensor> feeds_;
  std::vector<Tensor> fetches_;
};

}  // namespace tessera

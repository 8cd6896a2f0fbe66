// NanLocator: finds where a value that is no finite number comes from.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/training/job/hook.h"
#include "runtime/training/pipeline/batch_source.h"
#include "runtime/training/program/training_program.h"

namespace tessera {

// Keeps the variables as they were before each step, which costs a copy of those that the step
// changes. The step can so be looked at again once its loss is not finite.
class NanLocator final : public Hook {
 public:
  // `program` must outlive the object. `fields` are those of the batches.
  NanLocator(const TrainingProgram* program, std::vector<BatchField> fields)
      : program_(program), fields_(std::move(fields)) {}

  absl::Status BeforeStep(int64_t step) override;

  // Returns a sentence, without its full stop, about the first of these that is not finite for the
  // last step: a field of the batch, with its row; a variable before the step; the output of an op
  // of the forward graph, in the order of computation. The ops of a SavedModel, which are in
  // functions, are not looked at. Leaves the variables as they were before the step. Errors: those
  // of running the graph.
  absl::StatusOr<std::string> Locate(const std::vector<Tensor>& batch);

 private:
  absl::StatusOr<std::string> LocateInGraph(const std::vector<Tensor>& batch);

  const TrainingProgram* const program_;
  const std::vector<BatchField> fields_;
  std::vector<Tensor> variables_;  // before the step, in the order of the program's
};

}  // namespace tessera

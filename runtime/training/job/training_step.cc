#include "runtime/training/job/training_step.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/session/traced_callable.h"
#include "runtime/training/job/batch_feeds.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<TrainingStep>> TrainingStep::Make(
    const TrainingProgram& program, const std::vector<BatchField>& fields, Tracer* tracer) {
  if (program.loss.empty()) {
    return absl::InvalidArgumentError(
        "a step gives no loss: the train signature needs an output named 'loss'");
  }
  if (program.inputs.empty() && !fields.empty()) {
    return absl::InvalidArgumentError(
        "the graph has no inputs that data.train could feed; leave data.train out if it reads its "
        "own data");
  }
  if (!program.inputs.empty() && fields.empty()) {
    return absl::InvalidArgumentError("the graph has inputs, but data.train is missing");
  }
  ASSIGN_OR_RETURN(std::vector<int> indices, MatchFields(program.inputs, fields));
  const RunSignature signature{.feeds = FeedNames(program.inputs, program.constants),
                               .fetches = {program.loss},
                               .targets = program.train};
  ASSIGN_OR_RETURN(auto callable, program.session->MakeCallable(signature));
  return std::unique_ptr<TrainingStep>(
      new TrainingStep(std::move(indices), program.constants,
                       MakeTracedCallable("step", tracer, std::move(callable))));
}

absl::StatusOr<double> TrainingStep::Run(const std::vector<Tensor>& batch, absl::Duration timeout) {
  SelectFeeds(fields_, batch, constants_, &feeds_);
  fetches_.clear();
  RETURN_IF_ERROR(callable_->Run({.timeout = timeout}, feeds_, &fetches_));
  return LossValue(fetches_[0]);
}

}  // namespace tessera

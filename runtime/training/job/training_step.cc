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
  RunSignature signature{.feeds = FeedNames(program.inputs, program.constants),
                         .fetches = {program.loss},
                         .targets = program.train};
  if (program.update.has_value()) signature.fetches.push_back(program.update->num_added);
  ASSIGN_OR_RETURN(auto callable, program.session->MakeCallable(signature));
  ASSIGN_OR_RETURN(std::optional<Update> update, MakeUpdate(program));
  // The traced callable keeps this one alive.
  const auto* const uploader = dynamic_cast<const FeedUploader*>(callable.get());
  const auto* const placed = dynamic_cast<const PlacedRun*>(callable.get());
  return std::unique_ptr<TrainingStep>(
      new TrainingStep(std::move(indices), program.constants,
                       MakeTracedCallable("step", tracer, std::move(callable)), uploader,
                       &placed->placement(), std::move(update)));
}

absl::StatusOr<std::optional<TrainingStep::Update>> TrainingStep::MakeUpdate(
    const TrainingProgram& program) {
  if (!program.update.has_value()) return std::optional<Update>();
  const TrainingProgram::Update& spec = *program.update;
  Update update{.every = spec.every};
  ASSIGN_OR_RETURN(update.apply, program.session->MakeCallable({.targets = spec.apply}));
  if (spec.is_finite.empty()) return update;
  ASSIGN_OR_RETURN(update.check,
                   program.session->MakeCallable({.fetches = {spec.is_finite, spec.loss_scale}}));
  ASSIGN_OR_RETURN(update.skip, program.session->MakeCallable({.targets = spec.skip}));
  return update;
}

absl::StatusOr<double> TrainingStep::Run(const std::vector<Tensor>& batch, absl::Duration timeout) {
  SelectFeeds(fields_, batch, constants_, &feeds_);
  return RunUploaded(feeds_, timeout);
}

absl::StatusOr<std::vector<Tensor>> TrainingStep::Upload(const std::vector<Tensor>& batch) const {
  std::vector<Tensor> feeds;
  SelectFeeds(fields_, batch, constants_, &feeds);
  return uploader_->UploadFeeds(feeds);
}

absl::StatusOr<double> TrainingStep::RunUploaded(const std::vector<Tensor>& feeds,
                                                 absl::Duration timeout) {
  fetches_.clear();
  RETURN_IF_ERROR(callable_->Run({.timeout = timeout}, feeds, &fetches_));
  was_skipped_ = false;
  ASSIGN_OR_RETURN(const double loss, LossValue(fetches_[0]));
  if (update_.has_value() && fetches_[1].scalar<int64_t>() >= update_->every) {
    RETURN_IF_ERROR(RunUpdate(timeout));
  }
  return loss;
}

absl::Status TrainingStep::RunUpdate(absl::Duration timeout) {
  std::vector<Tensor> checked;
  if (update_->check != nullptr) {
    RETURN_IF_ERROR(update_->check->Run({.timeout = timeout}, {}, &checked));
    was_skipped_ = !checked[0].scalar<bool>();
    loss_scale_ = checked[1].scalar<float>();
  }
  const Callable& update = was_skipped_ ? *update_->skip : *update_->apply;
  return update.Run({.timeout = timeout}, {}, nullptr);
}

}  // namespace tessera

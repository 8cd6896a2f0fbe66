// TrainingStep: one step of a program, prepared once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/profile/tracer.h"
#include "runtime/session/feed_upload.h"
#include "runtime/session/run_placement.h"
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

  // Runs the step, and the update that is due, and returns the loss of the batch. Errors: those of
  // kernels; DEADLINE_EXCEEDED. The variables are unspecified after an error.
  absl::StatusOr<double> Run(const std::vector<Tensor>& batch, absl::Duration timeout);

  // Returns whether a device reads fields of a batch, which Upload() then brings to it.
  bool UploadsBatches() const { return uploader_ != nullptr && uploader_->UploadsFeeds(); }
  // Returns the feeds of a later RunUploaded(). May be called by another thread while a step runs.
  // Errors: those of the device.
  absl::StatusOr<std::vector<Tensor>> Upload(const std::vector<Tensor>& batch) const;
  // Does what Run() does, with what Upload() gave for the batch.
  absl::StatusOr<double> RunUploaded(const std::vector<Tensor>& feeds, absl::Duration timeout);

  // Returns which devices execute the step's ops.
  const RunPlacement& placement() const { return *placement_; }

  // Whether the last run skipped its update, because gradients were no finite numbers, and the loss
  // scale with which they were computed.
  bool was_skipped() const { return was_skipped_; }
  double loss_scale() const { return loss_scale_; }

 private:
  // See TrainingProgram::Update.
  struct Update {
    int64_t every = 1;
    std::shared_ptr<const Callable> check;  // null: every update is applied
    std::shared_ptr<const Callable> apply, skip;
  };

  TrainingStep(std::vector<int> fields, std::vector<NamedTensor> constants,
               std::shared_ptr<const Callable> callable, const FeedUploader* uploader,
               const RunPlacement* placement, std::optional<Update> update)
      : fields_(std::move(fields)),
        constants_(std::move(constants)),
        callable_(std::move(callable)),
        uploader_(uploader),
        placement_(placement),
        update_(std::move(update)) {}
  static absl::StatusOr<std::optional<Update>> MakeUpdate(const TrainingProgram& program);
  absl::Status RunUpdate(absl::Duration timeout);

  const std::vector<int> fields_;  // that are fed
  const std::vector<NamedTensor> constants_;
  const std::shared_ptr<const Callable> callable_;
  const FeedUploader* const uploader_;   // of the callable; null: it has none
  const RunPlacement* const placement_;  // of the callable
  const std::optional<Update> update_;   // of its own run
  bool was_skipped_ = false;
  double loss_scale_ = 1;
  std::vector<Tensor> feeds_;
  std::vector<Tensor> fetches_;
};

}  // namespace tessera

// DataPosition: where a run is in its data, as checkpoints hold it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/cancellation.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_saver.h"
#include "runtime/training/job/saved_position.h"
#include "runtime/training/pipeline/batch_source.h"

namespace tessera {

// A wait for a batch that is cancelled may lose elements that the pipeline has read already, so
// that its position is of no use then, and a checkpoint holds an earlier one: see SavedPosition.
//
//   ASSIGN_OR_RETURN(std::string note, position.Restore(reader));
//   while (position.must_drop()) RETURN_IF_ERROR(position.Next(nullptr, &batch).status());
//
// Used by one thread at a time.
class DataPosition {
 public:
  // `source` must outlive the object. Checkpoints have the position under `key`.
  DataPosition(BatchSource* source, std::string key) : source_(source), saved_(std::move(key)) {}

  // Takes the next batch: BatchSource::Next().
  absl::StatusOr<bool> Next(CancellationManager* cancellation, std::vector<Tensor>* batch);
  // Whether what Next() gives comes before the place that was restored.
  bool must_drop() const { return to_drop_ > 0; }

  // Adds the position to what a checkpoint holds. `is_interrupted`: a batch is taken ahead, and may
  // have been cancelled. `latest` is the prefix of the checkpoint that was saved or restored last.
  // Errors: those of BatchSource::SavePosition().
  absl::Status Save(bool is_interrupted, const std::optional<std::string>& latest,
                    std::vector<SavedTensor>* values);
  // Goes to the position in a checkpoint. Returns why the data begin anew; empty if they go on.
  // Errors: those of BatchSource::RestorePosition(); DATA_LOSS.
  absl::StatusOr<std::string> Restore(const CheckpointReader& reader);

 private:
  BatchSource* const source_;
  SavedPosition saved_;
  int64_t taken_ = 0;    // calls since the saved position
  int64_t to_drop_ = 0;  // calls before the place that was restored
  bool is_interrupted_ = false;
};

}  // namespace tessera

#include "runtime/training/job/data_position.h"

#include <utility>

#include "runtime/base/status.h"

namespace tessera {

absl::StatusOr<bool> DataPosition::Next(CancellationManager* cancellation,
                                        std::vector<Tensor>* batch) {
  if (saved_.needs_beginning()) {
    ASSIGN_OR_RETURN(Tensor beginning, source_->SavePosition());
    saved_.KeepBeginning(std::move(beginning));
  }
  const absl::StatusOr<bool> has_batch = source_->Next(cancellation, batch);
  if (!has_batch.ok()) {
    is_interrupted_ = true;
  } else if (to_drop_ > 0) {
    --to_drop_;
  } else {
    ++taken_;
  }
  return has_batch;
}

absl::Status DataPosition::Save(bool is_interrupted, const std::optional<std::string>& latest,
                                std::vector<SavedTensor>* values) {
  if (!is_interrupted && !is_interrupted_ && to_drop_ == 0) {
    ASSIGN_OR_RETURN(Tensor data, source_->SavePosition());
    saved_.Save(std::move(data), values);
    taken_ = 0;
    return absl::OkStatus();
  }
  // Without an earlier position the data begin anew.
  saved_.SaveEarlier(taken_, latest, values);
  return absl::OkStatus();
}

absl::StatusOr<std::string> DataPosition::Restore(const CheckpointReader& reader) {
  ASSIGN_OR_RETURN(const std::optional<SavedPosition::Saved> saved, saved_.Read(reader));
  if (!saved) return "the checkpoint does not say where the data were";
  const absl::Status status = source_->RestorePosition(saved->position);
  if (absl::IsFailedPrecondition(status)) return std::string(status.message());
  RETURN_IF_ERROR(status);
  saved_.Restore(*saved);
  to_drop_ = saved->to_drop;
  return "";
}

}  // namespace tessera

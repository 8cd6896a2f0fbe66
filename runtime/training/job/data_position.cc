#include "runtime/training/job/data_position.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {

absl::StatusOr<bool> DataPosition::Next(CancellationManager* cancellation,
                                        std::vector<Tensor>* batch) {
  if (!is_in_latest_ && !beginning_) {
    ASSIGN_OR_RETURN(beginning_, source_->SavePosition());
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
    values->push_back({key_, std::move(data)});
    beginning_.reset();
    is_in_latest_ = true;
    behind_latest_ = taken_ = 0;
    return absl::OkStatus();
  }
  std::optional<Tensor> data = beginning_;
  if (!data && latest) {
    const auto reader = CheckpointReader::Open(*latest);
    absl::StatusOr<Tensor> saved = reader.ok() ? (*reader)->Read(key_) : reader.status();
    if (saved.ok()) data = *std::move(saved);
  }
  // Without an earlier position the data begin anew.
  if (!data) return absl::OkStatus();
  values->push_back({key_, *std::move(data)});
  values->push_back({TakenKey(), Tensor::Scalar(behind_latest_ + taken_)});
  return absl::OkStatus();
}

absl::StatusOr<std::string> DataPosition::Restore(const CheckpointReader& reader) {
  if (!reader.Contains(key_)) return "the checkpoint does not say where the data were";
  ASSIGN_OR_RETURN(const Tensor data, reader.Read(key_));
  const absl::Status status = source_->RestorePosition(data);
  if (absl::IsFailedPrecondition(status)) return std::string(status.message());
  RETURN_IF_ERROR(status);
  is_in_latest_ = true;
  if (!reader.Contains(TakenKey())) return "";
  ASSIGN_OR_RETURN(const Tensor taken, reader.Read(TakenKey()));
  if (taken.dtype() != DType::kInt64 || taken.num_elements() != 1 || taken.scalar<int64_t>() < 0) {
    return absl::DataLossError(absl::StrCat("'", TakenKey(), "' is no count"));
  }
  behind_latest_ = to_drop_ = taken.scalar<int64_t>();
  return "";
}

}  // namespace tessera

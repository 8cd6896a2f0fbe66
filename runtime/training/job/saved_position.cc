#include "runtime/training/job/saved_position.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {

void SavedPosition::Save(Tensor position, std::vector<SavedTensor>* values) {
  values->push_back({key_, std::move(position)});
  beginning_.reset();
  is_in_latest_ = true;
  behind_latest_ = 0;
}

bool SavedPosition::SaveEarlier(int64_t taken, const std::optional<std::string>& latest,
                                std::vector<SavedTensor>* values) {
  std::optional<Tensor> position = beginning_;
  if (!position && is_in_latest_ && latest) {
    const auto reader = CheckpointReader::Open(*latest);
    absl::StatusOr<Tensor> saved = reader.ok() ? (*reader)->Read(key_) : reader.status();
    if (saved.ok()) position = *std::move(saved);
  }
  if (!position) return false;
  values->push_back({key_, *std::move(position)});
  values->push_back({TakenKey(), Tensor::Scalar(behind_latest_ + taken)});
  return true;
}

void SavedPosition::Forget() {
  beginning_.reset();
  is_in_latest_ = false;
  behind_latest_ = 0;
}

absl::StatusOr<std::optional<SavedPosition::Saved>> SavedPosition::Read(
    const CheckpointReader& reader) const {
  if (!reader.Contains(key_)) return std::nullopt;
  Saved saved;
  ASSIGN_OR_RETURN(saved.position, reader.Read(key_));
  if (!reader.Contains(TakenKey())) return saved;
  ASSIGN_OR_RETURN(const Tensor taken, reader.Read(TakenKey()));
  if (taken.dtype() != DType::kInt64 || taken.num_elements() != 1 || taken.scalar<int64_t>() < 0) {
    return absl::DataLossError(absl::StrCat("'", TakenKey(), "' is no count"));
  }
  saved.to_drop = taken.scalar<int64_t>();
  return saved;
}

void SavedPosition::Restore(const Saved& saved) {
  is_in_latest_ = true;
  behind_latest_ = saved.to_drop;
}

}  // namespace tessera

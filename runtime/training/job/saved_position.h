// SavedPosition: a place in data under its key in checkpoints, the current one or an earlier one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_saver.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A reader of data cannot always tell where it is: a wait that is cancelled may lose elements that
// were read already. A checkpoint then holds the position of an earlier checkpoint, or that of the
// beginning, and how many elements were taken since. A run that goes on from there takes as many
// elements again, and drops them.
//
// Used by one thread at a time.
class SavedPosition {
 public:
  // Checkpoints have the position under `key`.
  explicit SavedPosition(std::string key) : key_(std::move(key)) {}

  // Whether KeepBeginning() is to be called before elements are taken.
  bool needs_beginning() const { return !is_in_latest_ && !beginning_; }
  void KeepBeginning(Tensor position) { beginning_ = std::move(position); }

  // Adds the position of the reader to what a checkpoint holds.
  void Save(Tensor position, std::vector<SavedTensor>* values);
  // Adds the earlier position, behind which `taken` elements were taken: since Save(), Restore() or
  // the beginning. `latest` is the prefix of the checkpoint that was saved or restored last.
  // Returns false, and adds nothing, if there is no earlier position.
  bool SaveEarlier(int64_t taken, const std::optional<std::string>& latest,
                   std::vector<SavedTensor>* values);
  // Forgets the earlier positions, when a checkpoint is written without one.
  void Forget();

  struct Saved {
    Tensor position;
    int64_t to_drop = 0;  // the elements behind it that were taken
  };
  // Returns what a checkpoint has; nullopt if it has none. Errors: DATA_LOSS.
  absl::StatusOr<std::optional<Saved>> Read(const CheckpointReader& reader) const;
  // Tells that the reader is where `saved` says.
  void Restore(const Saved& saved);

 private:
  std::string TakenKey() const { return key_ + "_taken"; }

  const std::string key_;
  // The position from which elements are counted: the beginning of the data, or else that in the
  // latest checkpoint, which lies behind_latest_ elements before the place that it stands for.
  std::optional<Tensor> beginning_;
  bool is_in_latest_ = false;
  int64_t behind_latest_ = 0;
};

}  // namespace tessera

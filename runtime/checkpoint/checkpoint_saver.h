// CheckpointSaver: the checkpoints of a training job in their folder.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/checkpoint/checkpoint_state.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A tensor and the key under which a checkpoint has it.
struct SavedTensor {
  std::string key;
  Tensor tensor;
  // For a part of a partitioned tensor: see ShapeAndSlice. Empty for a whole one.
  std::string slice = "";
};

// Writes checkpoints FOLDER/NAME-STEP, keeps the file FOLDER/checkpoint that tells which there are,
// and removes old ones. TensorFlow's tf.train.latest_checkpoint, tf.train.CheckpointManager and
// tf.compat.v1.train.Saver find and restore them, and go on where this class has stopped; the other
// way round, too.
//
//   ASSIGN_OR_RETURN(CheckpointSaver saver, CheckpointSaver::Open("/run", {.max_to_keep = 3}));
//   if (auto latest = saver.Latest()) ... CheckpointReader::Open(latest->prefix), ReadTensors() ...
//   RETURN_IF_ERROR(saver.Save(100, tensors, object_graph).status());
//
// Whenever the process is killed, or a write fails, the checkpoints that were there stay whole, and
// the latest one can be found: a checkpoint is on the disk before the file `checkpoint` names it,
// and old ones are removed after that. One saver at a time may be open on a folder; its owner holds
// a lock if there could be several. Used by one thread at a time.
class CheckpointSaver {
 public:
  struct Options {
    std::string name = "ckpt";  // not empty, without '/'
    // Older checkpoints are removed. 0: none are.
    int max_to_keep = 5;
    // One of the checkpoints that would be removed is kept for good whenever so many hours have
    // passed since the one that was kept last. As in TensorFlow, the file `checkpoint` no longer
    // names it. 0: no checkpoint is kept for good.
    double keep_every_hours = 0;
    // The clock; tests have their own.
    std::function<absl::Time()> now = absl::Now;
  };
  struct Checkpoint {
    std::string prefix;  // for CheckpointReader::Open()
    int64_t step = 0;    // 0 if its name has none
  };

  // Creates the folder if it is missing, removes what a dead writer has left in it, and takes over
  // the checkpoints that are there. Checkpoints that were completed just before their writer died,
  // and all if the file `checkpoint` is missing or damaged, are found by their names. Errors:
  // INVALID_ARGUMENT for a bad name; PERMISSION_DENIED if files cannot be written to the folder.
  static absl::StatusOr<CheckpointSaver> Open(const std::string& folder, const Options& options);

  // Writes a checkpoint and returns its prefix once it is on the disk. One of the same step is
  // replaced. An object-based checkpoint has an `object_graph`, a serialized TrackableObjectGraph;
  // a name-based one has none. Errors: those of CheckpointWriter, such as RESOURCE_EXHAUSTED on a
  // full disk; the checkpoints that were there are still there then.
  absl::StatusOr<std::string> Save(int64_t step, absl::Span<const SavedTensor> tensors,
                                   absl::string_view object_graph);

  // The checkpoint that was saved last. Checkpoints with missing or damaged files are passed over.
  std::optional<Checkpoint> Latest() const;
  // Returns what is wrong with the files of the checkpoint that was saved last; OK if nothing is,
  // or if there is none. Errors: NOT_FOUND for a missing file; DATA_LOSS for a damaged one.
  absl::Status CheckLatest() const;

 private:
  struct Kept {
    std::string name;
    double timestamp = 0;  // in seconds since the epoch
  };
  CheckpointSaver(std::string folder, const Options& options);
  double Now() const;
  // Fills kept_ with what the folder has, and removes leftovers.
  absl::Status Recover();
  absl::Status WriteState() const;
  // Removes checkpoints until no more than max_to_keep are left. Returns whether there were any.
  bool Sweep();

  std::string folder_;
  Options options_;
  std::vector<Kept> kept_;  // those that the file `checkpoint` names, the latest last
  double last_preserved_ = 0;
};

}  // namespace tessera

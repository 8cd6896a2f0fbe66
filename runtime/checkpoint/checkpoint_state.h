// Reads and writes the file `checkpoint` in which a saver keeps what checkpoints there are in its
// folder. Format: docs/formats.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// The checkpoints are named by the last component of their prefixes, such as "ckpt-17": a folder
// may be mounted elsewhere than where the saver, which may write whole paths, has seen it.
struct CheckpointState {
  std::string latest;              // never empty
  std::vector<std::string> all;    // those that the saver keeps, oldest first; may lack the latest
  std::vector<double> timestamps;  // of `all`, in seconds since the epoch; empty if unknown
  double last_preserved = 0;       // timestamp of the last one that is kept for good; 0: none
};

// Parses the contents of such a file. Errors: DATA_LOSS if they are no CheckpointState in text
// form, or name no latest checkpoint.
absl::StatusOr<CheckpointState> ParseCheckpointState(const std::string& text);

// Reads the file `checkpoint` of a folder. Errors: NOT_FOUND if there is none; those of
// ParseCheckpointState(), with the path.
absl::StatusOr<CheckpointState> ReadCheckpointState(const std::string& directory);

// Replaces the file `checkpoint` of a folder atomically, as TensorFlow's savers write it. Errors:
// those of WriteFileAtomically().
absl::Status WriteCheckpointState(const std::string& directory, const CheckpointState& state);

// Returns the number after the last '-' of a checkpoint's name, which savers write there: 17 for
// "ckpt-17". nullopt if there is none.
std::optional<int64_t> StepOfCheckpoint(absl::string_view name);

}  // namespace tessera

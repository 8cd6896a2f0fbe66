// The files of all checkpoints in a folder, by their names alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera {

// The names of the files of one checkpoint, without their folder.
struct CheckpointFileNames {
  bool has_index = false;
  // NAME.data-SSSSS-of-NNNNN by NNNNN. A checkpoint that was replaced, or is about to be, may have
  // files of several numbers; its index belongs to one of them.
  std::map<int, std::vector<std::string>> data;
  std::vector<std::string> unfinished;  // temporary files: a writer works on them, or has died

  // All of them, the index first.
  std::vector<std::string> All(const std::string& checkpoint) const;
};

// Returns the files of each checkpoint in a folder, by the name of the checkpoint, such as
// "ckpt-17". Other files are left out. Temporary files are those of CheckpointWriter and of
// TensorFlow. Errors: those of ListDirectory().
absl::StatusOr<std::map<std::string, CheckpointFileNames>> ListCheckpoints(
    const std::string& folder);

}  // namespace tessera

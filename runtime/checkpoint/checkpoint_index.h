// The index of a checkpoint as entries by key. Format: docs/formats.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/checkpoint/checkpoint_tensor.h"
#include "runtime/checkpoint/tensor_slice.h"

namespace tessera {

// What the index says of itself.
struct CheckpointHeader {
  int num_shards = 1;
  bool is_foreign_endian = false;
};

// One line of the index: a whole tensor under its name, or a slice of one under SliceKey().
struct CheckpointIndexEntry {
  StoredTensor stored;              // of a partitioned tensor, type and shape only
  int shard = 0;                    // below the header's num_shards
  std::vector<TensorSlice> slices;  // of a partitioned tensor
};

// True for the key of a slice; the keys of whole tensors are their names.
inline bool IsSliceKey(absl::string_view key) { return !key.empty() && key.front() == '\0'; }

// "PREFIX.data-00002-of-00004".
std::string ShardPath(absl::string_view prefix, int shard, int num_shards);

// Reads PREFIX.index; calls visit(key, entry) for each line, by ascending key.
// Errors: NOT_FOUND naming the file; DATA_LOSS naming file and tensor; UNIMPLEMENTED for a newer
// format; those of `visit`.
absl::StatusOr<CheckpointHeader> ReadCheckpointIndex(
    const std::string& prefix,
    absl::FunctionRef<absl::Status(absl::string_view key, CheckpointIndexEntry entry)> visit);

// Writes PREFIX.index atomically.
absl::Status WriteCheckpointIndex(const std::string& prefix, const CheckpointHeader& header,
                                  const std::map<std::string, CheckpointIndexEntry>& entries);

}  // namespace tessera

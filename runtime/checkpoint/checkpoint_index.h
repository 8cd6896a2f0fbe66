// Reads and writes the index of a checkpoint. Format: docs/formats.md.
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

// The header entry of an index.
struct CheckpointHeader {
  int num_shards = 1;
  bool is_foreign_endian = false;
};

// One entry of the index. The key of a whole tensor is its name, that of a slice is SliceKey().
struct CheckpointIndexEntry {
  StoredTensor stored;              // only dtype and shape if the tensor is partitioned
  int shard = 0;                    // less than CheckpointHeader::num_shards
  std::vector<TensorSlice> slices;  // empty unless the tensor is partitioned
};

// True for the key of a slice; the keys of whole tensors are their names.
inline bool IsSliceKey(absl::string_view key) { return !key.empty() && key.front() == '\0'; }

// Returns the path of a data file, such as "PREFIX.data-00002-of-00004".
std::string ShardPath(absl::string_view prefix, int shard, int num_shards);

// Reads PREFIX.index and calls visit(key, entry) for each entry, in ascending order of keys.
// Errors: NOT_FOUND naming the file; DATA_LOSS naming file and tensor; UNIMPLEMENTED for a newer
// format; those of `visit`.
absl::StatusOr<CheckpointHeader> ReadCheckpointIndex(
    const std::string& prefix,
    absl::FunctionRef<absl::Status(absl::string_view key, CheckpointIndexEntry entry)> visit);

// Writes PREFIX.index atomically.
absl::Status WriteCheckpointIndex(const std::string& prefix, const CheckpointHeader& header,
                                  const std::map<std::string, CheckpointIndexEntry>& entries);

}  // namespace tessera

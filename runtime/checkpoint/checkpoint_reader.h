// Reads TensorFlow's checkpoints (tensor bundles): PREFIX.index and PREFIX.data-SSSSS-of-NNNNN.
// Formats: docs/formats.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/checkpoint/tensor_slice.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// What the index says of one tensor.
struct CheckpointEntry {
  DType dtype = DType::kInvalid;
  Shape shape;
  bool is_partitioned = false;
};

// Immutable; thread-safe. Tensors of trivially copyable types alias the mapped data file where
// their offset is aligned for the type, so reading costs no copy; the CRC32C of each is checked on
// its first read. Both byte orders are read.
class CheckpointReader {
 public:
  // Errors: NOT_FOUND naming the file; DATA_LOSS for a corrupt index; UNIMPLEMENTED for a format
  // newer than this reader.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> Open(const std::string& prefix);
  ~CheckpointReader();

  // Of all whole tensors, sorted; slices of partitioned ones are not listed.
  std::vector<std::string> TensorNames() const;
  bool Contains(absl::string_view name) const;
  // Errors: NOT_FOUND naming the tensor and the checkpoint.
  absl::StatusOr<CheckpointEntry> Find(absl::string_view name) const;
  // The whole tensor, put together from its slices if it is partitioned.
  // Errors: NOT_FOUND; DATA_LOSS (CRC, size, missing shard), naming tensor and file.
  absl::StatusOr<Tensor> Read(absl::string_view name) const;
  // Part of a tensor. Whole rows of one that is aliased, and a slice that is stored as such, are
  // aliased too. Errors: as Read(); INVALID_ARGUMENT if the slice does not fit the shape.
  absl::StatusOr<Tensor> ReadSlice(absl::string_view name, const TensorSlice& slice) const;

 private:
  class Impl;
  explicit CheckpointReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera

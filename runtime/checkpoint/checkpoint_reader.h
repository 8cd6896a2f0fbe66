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

// Type and shape of one tensor.
struct CheckpointEntry {
  DType dtype = DType::kInvalid;
  Shape shape;
  bool is_partitioned = false;
};

// Reads one checkpoint. A tensor of a trivially copyable type aliases the mapped data file if its
// offset is aligned for the type, so that reading it costs no copy. The CRC32C of each tensor is
// checked when it is first read. Files of both byte orders are supported. Immutable and
// thread-safe.
class CheckpointReader {
 public:
  // Errors: NOT_FOUND naming the file; DATA_LOSS for a corrupt index; UNIMPLEMENTED for a format
  // newer than this reader.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> Open(const std::string& prefix);
  ~CheckpointReader();

  // The names of all tensors, sorted. A partitioned tensor is listed once, without its slices.
  std::vector<std::string> TensorNames() const;
  bool Contains(absl::string_view name) const;
  // Errors: NOT_FOUND naming the tensor and the checkpoint.
  absl::StatusOr<CheckpointEntry> Find(absl::string_view name) const;
  // Returns the whole tensor. A partitioned tensor is assembled from its slices.
  // Errors: NOT_FOUND; DATA_LOSS (CRC, size, missing shard), naming tensor and file.
  absl::StatusOr<Tensor> Read(absl::string_view name) const;
  // Returns a part of a tensor. The result aliases the file if the slice is stored as such, or if
  // it consists of whole rows of a tensor that can be aliased. Errors: those of Read();
  // INVALID_ARGUMENT if the slice does not fit the shape.
  absl::StatusOr<Tensor> ReadSlice(absl::string_view name, const TensorSlice& slice) const;

 private:
  class Impl;
  explicit CheckpointReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera

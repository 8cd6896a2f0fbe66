// Reads and writes checkpoints of version 1: tables of slices of tensors, one file for each shard.
// The ops Save and Restore of old graphs use them. Format: docs/formats.md.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/checkpoint/tensor_slice.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// A tensor, or a part of one.
struct TensorPart {
  std::string name;
  ShapeAndSlice place;
  Tensor tensor;
};

// Writes a file atomically. Errors: INVALID_ARGUMENT for a part that does not have the shape of its
// slice, for one that is there twice, and for parts whose wholes differ; UNIMPLEMENTED for types
// that no checkpoint can hold; those of WriteFileAtomically().
absl::Status WriteCheckpointV1(const std::string& path, absl::Span<const TensorPart> parts);

// Reads the shards of one checkpoint, which it keeps in memory. Immutable and thread-safe.
class CheckpointV1Reader {
 public:
  // `pattern` is a path, or a pattern as glob(3) takes it. Errors: NOT_FOUND if no file matches;
  // DATA_LOSS with the name of a damaged file.
  static absl::StatusOr<std::unique_ptr<CheckpointV1Reader>> Open(const std::string& pattern);

  // Returns a tensor, or the part of it at `place`. Errors: NOT_FOUND for an unknown name;
  // INVALID_ARGUMENT if the tensor has another dtype, or another shape than `place` says; DATA_LOSS
  // for a damaged file, or if its slices do not cover the part.
  absl::StatusOr<Tensor> Read(const std::string& name, DType dtype,
                              const std::optional<ShapeAndSlice>& place) const;

 private:
  struct Entry {
    DType dtype = DType::kInvalid;
    Shape shape;
    std::vector<TensorSlice> slices;  // as the keys of their data have them
  };

  CheckpointV1Reader() = default;
  absl::Status AddFile(const std::string& file);
  // Parses the directory of a file.
  absl::Status AddEntries(absl::string_view directory);
  // Returns the elements of a slice.
  absl::StatusOr<Tensor> Load(const std::string& name, const Entry& entry, const TensorSlice& slice,
                              const Shape& shape) const;

  std::map<std::string, Entry> entries_;
  absl::flat_hash_map<std::string, std::string> data_;  // by SliceKey()
};

}  // namespace tessera

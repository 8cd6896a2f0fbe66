// Writes TensorFlow's checkpoints (tensor bundles): PREFIX.index and PREFIX.data-00000-of-00001.
// Formats: docs/formats.md.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/base/file_system.h"
#include "runtime/checkpoint/checkpoint_index.h"
#include "runtime/checkpoint/tensor_slice.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Writes one checkpoint.
//
//   ASSIGN_OR_RETURN(CheckpointWriter writer, CheckpointWriter::Create("/ckpt/model-100"));
//   RETURN_IF_ERROR(writer.Add("w", w));
//   RETURN_IF_ERROR(writer.AddSlice("emb", {1000, 8}, *TensorSlice::Parse("0,500:-"), half));
//   RETURN_IF_ERROR(writer.Finish());
//
// Tensors go to a temporary file as they are added, so memory stays small. The files appear under
// their names in Finish(), the index last: a reader finds the whole checkpoint, or none. Without
// Finish() nothing is left. Each tensor starts at a multiple of 64 bytes, so that a reader can
// alias it. Used by one thread at a time.
class CheckpointWriter {
 public:
  // Makes missing directories. Errors: PERMISSION_DENIED and the like, naming the file.
  static absl::StatusOr<CheckpointWriter> Create(const std::string& prefix);
  CheckpointWriter(CheckpointWriter&&) noexcept;
  ~CheckpointWriter();

  // Errors: INVALID_ARGUMENT for a name that is empty, starts with a zero byte, or was added
  // before; UNIMPLEMENTED for resources and variants; a failed write.
  absl::Status Add(absl::string_view name, const Tensor& tensor);
  // Part of a partitioned tensor of shape `whole`. A slice that covers it all is a plain Add().
  // Errors: as Add(); INVALID_ARGUMENT if `slice` does not fit `whole`, or `part` does not have the
  // slice's shape, or type or shape differ from an earlier slice's.
  absl::Status AddSlice(absl::string_view name, const Shape& whole, const TensorSlice& slice,
                        const Tensor& part);
  // The last call. Errors: a failed write.
  absl::Status Finish();

 private:
  CheckpointWriter(std::string prefix, AtomicFile data);
  // Writes the bytes and the index entry `key`.
  absl::Status Write(const std::string& key, const Tensor& tensor);

  std::string prefix_;
  AtomicFile data_;
  std::map<std::string, CheckpointIndexEntry> entries_;  // by key
};

// Makes one checkpoint `merged` of several that hold different tensors or different slices of the
// same ones, as the tasks of a cluster save them. The data files are renamed, not copied:
// `prefixes` are gone afterwards, and must be on the same file system as `merged`. Errors:
// INVALID_ARGUMENT if one tensor is in two of them, or there are none; NOT_FOUND and DATA_LOSS as
// CheckpointReader::Open() gives them. On these errors nothing is changed.
absl::Status MergeCheckpoints(absl::Span<const std::string> prefixes, const std::string& merged);

}  // namespace tessera

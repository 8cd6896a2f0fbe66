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
// Add() writes each tensor to a temporary file at once, so that little memory is needed. Finish()
// renames the files, the index last, so that a reader finds either the whole checkpoint or none. A
// writer that is destroyed before Finish() leaves no file behind. Each tensor starts at a multiple
// of 64 bytes, so that a reader can alias it. Used by one thread at a time.
class CheckpointWriter {
 public:
  // Creates missing directories. Errors: those of the file system, such as PERMISSION_DENIED, with
  // the name of the file.
  static absl::StatusOr<CheckpointWriter> Create(const std::string& prefix);
  CheckpointWriter(CheckpointWriter&&) noexcept;
  ~CheckpointWriter();

  // Errors: INVALID_ARGUMENT for a name that is empty, starts with a zero byte, or was added
  // before; UNIMPLEMENTED for resources and variants; a failed write.
  absl::Status Add(absl::string_view name, const Tensor& tensor);
  // Adds a part of a partitioned tensor of shape `whole`. A slice that covers the whole tensor is
  // written as by Add(). Errors: those of Add(); INVALID_ARGUMENT if `slice` does not fit `whole`,
  // if `part` does not have the shape of the slice, or if dtype or whole shape differ from those of
  // an earlier slice of this tensor.
  absl::Status AddSlice(absl::string_view name, const Shape& whole, const TensorSlice& slice,
                        const Tensor& part);
  // Makes the checkpoint visible. Must be the last call. Errors: a failed write.
  absl::Status Finish();

 private:
  CheckpointWriter(std::string prefix, AtomicFile data);
  // Writes the bytes and the index entry `key`.
  absl::Status Write(const std::string& key, const Tensor& tensor);

  std::string prefix_;
  AtomicFile data_;
  std::map<std::string, CheckpointIndexEntry> entries_;  // by key
};

// Merges several checkpoints, which hold different tensors or different slices of the same tensors,
// into one checkpoint `merged`. The tasks of a cluster save such parts. The data files are renamed
// and not copied: they must be on the same file system as `merged`, and the checkpoints `prefixes`
// no longer exist afterwards. Errors: INVALID_ARGUMENT if `prefixes` is empty or a tensor is in two
// of them; the errors of CheckpointReader::Open(). No file is changed on these errors.
absl::Status MergeCheckpoints(absl::Span<const std::string> prefixes, const std::string& merged);

}  // namespace tessera

// Writes TensorFlow's checkpoints (tensor bundles): PREFIX.index and PREFIX.data-SSSSS-of-NNNNN.
// Formats: docs/formats.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
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
// Finish() writes the tensors, a large checkpoint as several data files by as many threads, and
// renames the files, the index last: a reader finds either the whole checkpoint or none. It
// replaces a checkpoint of the same prefix in one step, too: the new data files have other names,
// and the old ones are removed once the new index is there. Whoever has the old files mapped keeps
// them. A writer that fails, or is destroyed before Finish(), leaves no file behind; one that is
// killed leaves temporary files, see checkpoint_folder.h. Each tensor starts at a multiple of 64
// bytes, so that a reader can alias it. Used by one thread at a time.
class CheckpointWriter {
 public:
  // Creates missing directories. Errors: those of the file system, such as PERMISSION_DENIED, with
  // the name of the directory.
  static absl::StatusOr<CheckpointWriter> Create(const std::string& prefix);
  CheckpointWriter(CheckpointWriter&&) noexcept;
  ~CheckpointWriter();

  // Keeps the tensor, which shares its buffer, until Finish(). Errors: INVALID_ARGUMENT for a name
  // that is empty, starts with a zero byte, or was added before; UNIMPLEMENTED for resources and
  // variants.
  absl::Status Add(absl::string_view name, const Tensor& tensor);
  // Adds a part of a partitioned tensor of shape `whole`. A slice that covers the whole tensor is
  // written as by Add(). Errors: those of Add(); INVALID_ARGUMENT if `slice` does not fit `whole`,
  // if `part` does not have the shape of the slice, or if dtype or whole shape differ from those of
  // an earlier slice of this tensor.
  absl::Status AddSlice(absl::string_view name, const Shape& whole, const TensorSlice& slice,
                        const Tensor& part);
  // Writes the checkpoint, and returns when it is on the disk. Must be the last call. Errors: those
  // of the file system with the name of the file, such as RESOURCE_EXHAUSTED for a full disk.
  absl::Status Finish();

 private:
  struct Pending {
    std::string key;  // in the index
    Tensor tensor;
  };
  explicit CheckpointWriter(std::string prefix);
  // Writes data file `shard`, with the tensors at `indices` of pending_.
  absl::Status WriteShard(int shard, int num_shards, absl::Span<const size_t> indices);

  std::string prefix_;
  std::vector<Pending> pending_;
  std::map<std::string, CheckpointIndexEntry> entries_;  // by key
};

// Merges several checkpoints, which hold different tensors or different slices of the same tensors,
// into one checkpoint `merged`. The tasks of a cluster save such parts. The data files are renamed
// and not copied: they must be on the same file system as `merged`, and the checkpoints `prefixes`
// no longer exist afterwards. Errors: INVALID_ARGUMENT if `prefixes` is empty or a tensor is in two
// of them; the errors of CheckpointReader::Open(). No file is changed on these errors.
absl::Status MergeCheckpoints(absl::Span<const std::string> prefixes, const std::string& merged);

}  // namespace tessera

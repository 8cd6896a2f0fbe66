#include "runtime/checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/status.h"
#include "runtime/tensor/buffer.h"

namespace tessera {
namespace {

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

absl::Status NameError(absl::string_view name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("cannot save tensor '", name, "': ", why));
}

absl::Status CheckStorable(absl::string_view name, DType dtype) {
  if (name.empty() || IsSliceKey(name)) {
    return NameError(name, "names must not be empty or start with a zero byte");
  }
  if (IsStorable(dtype)) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("cannot save tensor '", name, "': type ",
                                               DTypeName(dtype), " has no form in a checkpoint"));
}

}  // namespace

CheckpointWriter::CheckpointWriter(std::string prefix, AtomicFile data)
    : prefix_(std::move(prefix)), data_(std::move(data)) {}
CheckpointWriter::CheckpointWriter(CheckpointWriter&&) noexcept = default;
CheckpointWriter::~CheckpointWriter() = default;

absl::StatusOr<CheckpointWriter> CheckpointWriter::Create(const std::string& prefix) {
  if (const std::string directory = DirectoryOf(prefix); !directory.empty()) {
    RETURN_IF_ERROR(CreateDirectories(directory));
  }
  ASSIGN_OR_RETURN(AtomicFile data, AtomicFile::Create(ShardPath(prefix, 0, 1)));
  return CheckpointWriter(prefix, std::move(data));
}

absl::Status CheckpointWriter::Write(const std::string& key, const Tensor& tensor) {
  StoredTensor stored;
  stored.dtype = tensor.dtype();
  stored.shape = tensor.shape();
  if (tensor.dtype() == DType::kString) {
    stored.offset = static_cast<int64_t>(data_.size());
    RETURN_IF_ERROR(data_.Append(EncodeStringLengths(tensor, &stored.crc)));
    for (const std::string& element : tensor.flat<std::string>()) {
      stored.crc = ExtendCrc32c(stored.crc, element);
      RETURN_IF_ERROR(data_.Append(element));
    }
  } else {
    const size_t padding = -data_.size() & (kBufferAlignment - 1);
    RETURN_IF_ERROR(data_.Append(std::string(padding, '\0')));
    stored.offset = static_cast<int64_t>(data_.size());
    const absl::string_view bytes(tensor.raw(), tensor.size_bytes());
    stored.crc = Crc32c(bytes);
    RETURN_IF_ERROR(data_.Append(bytes));
  }
  stored.size = static_cast<int64_t>(data_.size()) - stored.offset;
  entries_[key].stored = stored;
  return absl::OkStatus();
}

absl::Status CheckpointWriter::Add(absl::string_view name, const Tensor& tensor) {
  RETURN_IF_ERROR(CheckStorable(name, tensor.dtype()));
  std::string key(name);
  if (entries_.count(key) > 0) return NameError(name, "it was saved before");
  return Write(key, tensor);
}

absl::Status CheckpointWriter::AddSlice(absl::string_view name, const Shape& whole,
                                        const TensorSlice& slice, const Tensor& part) {
  auto box = slice.Within(whole);
  if (!box.ok()) return NameError(name, box.status().message());
  if (box->shape() != part.shape()) {
    return NameError(
        name, absl::StrCat("slice '", slice.ToString(), "' has shape ", box->shape().ToString(),
                           ", the tensor ", part.shape().ToString()));
  }
  if (part.shape() == whole) return Add(name, part);
  RETURN_IF_ERROR(CheckStorable(name, part.dtype()));
  auto [it, is_new] = entries_.try_emplace(std::string(name));
  CheckpointIndexEntry& entry = it->second;
  if (is_new) {
    entry.stored.dtype = part.dtype();
    entry.stored.shape = whole;
  } else if (entry.slices.empty()) {
    return NameError(name, "it was saved before, as a whole");
  } else if (entry.stored.dtype != part.dtype() || entry.stored.shape != whole) {
    return NameError(name, "its slices differ in the type or shape of the whole");
  }
  const std::string key = SliceKey(name, *box);
  if (entries_.count(key) > 0) {
    return NameError(name, absl::StrCat("slice '", slice.ToString(), "' was saved before"));
  }
  entry.slices.push_back(*box);
  return Write(key, part);
}

absl::Status CheckpointWriter::Finish() {
  RETURN_IF_ERROR(data_.Commit());
  return WriteCheckpointIndex(prefix_, CheckpointHeader(), entries_);
}

absl::Status MergeCheckpoints(absl::Span<const std::string> prefixes, const std::string& merged) {
  if (prefixes.empty()) return absl::InvalidArgumentError("there are no checkpoints to merge");
  std::map<std::string, CheckpointIndexEntry> entries;
  std::vector<std::string> data_files;
  std::vector<CheckpointHeader> headers;
  for (const std::string& prefix : prefixes) {
    const int first_shard = static_cast<int>(data_files.size());
    auto header = ReadCheckpointIndex(
        prefix, [&](absl::string_view key, CheckpointIndexEntry entry) -> absl::Status {
          entry.shard += first_shard;
          auto [it, is_new] = entries.try_emplace(std::string(key), entry);
          if (is_new) return absl::OkStatus();
          // Slices of one tensor may come from several checkpoints.
          CheckpointIndexEntry& known = it->second;
          if (known.slices.empty() || entry.slices.empty() ||
              known.stored.dtype != entry.stored.dtype ||
              known.stored.shape != entry.stored.shape) {
            return absl::InvalidArgumentError(absl::StrCat(
                IsSliceKey(key) ? "a slice of tensor '" : "tensor '", absl::Utf8SafeCHexEscape(key),
                "' is in another of the checkpoints, too"));
          }
          known.slices.insert(known.slices.end(), entry.slices.begin(), entry.slices.end());
          return absl::OkStatus();
        });
    if (!header.ok()) return header.status();
    for (int shard = 0; shard < header->num_shards; ++shard) {
      data_files.push_back(ShardPath(prefix, shard, header->num_shards));
      if (!FileExists(data_files.back())) {
        return absl::DataLossError(absl::StrCat("data file '", data_files.back(),
                                                "' is missing, though its index is there"));
      }
    }
    headers.push_back(*header);
    if (header->is_foreign_endian != headers.front().is_foreign_endian) {
      return absl::InvalidArgumentError(
          absl::StrCat("checkpoints '", prefixes.front(), "' and '", prefix,
                       "' differ in byte order and cannot be merged"));
    }
  }

  CheckpointHeader header = headers.front();
  header.num_shards = static_cast<int>(data_files.size());
  if (const std::string directory = DirectoryOf(merged); !directory.empty()) {
    RETURN_IF_ERROR(CreateDirectories(directory));
  }
  for (int shard = 0; shard < header.num_shards; ++shard) {
    RETURN_IF_ERROR(RenameFile(data_files[shard], ShardPath(merged, shard, header.num_shards)));
  }
  RETURN_IF_ERROR(WriteCheckpointIndex(merged, header, entries));
  for (const std::string& prefix : prefixes) {
    if (prefix != merged) RETURN_IF_ERROR(RemoveFile(prefix + ".index"));
  }
  return absl::OkStatus();
}

}  // namespace tessera

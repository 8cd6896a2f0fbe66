#include "runtime/checkpoint/checkpoint_writer.h"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/cpu_count.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/data_file.h"
#include "runtime/tensor/buffer.h"

namespace tessera {
namespace {

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A thread writes each data file: one for every so many bytes, and no more than there are cores.
constexpr int kMostShards = 8;
constexpr uint64_t kBytesOfAShard = 32 << 20;

// The bytes of a tensor in its data file, but for those of the lengths of strings.
uint64_t StoredBytes(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) return tensor.size_bytes();
  uint64_t size = 0;
  for (const std::string& element : tensor.flat<std::string>()) size += element.size();
  return size;
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

CheckpointWriter::CheckpointWriter(std::string prefix) : prefix_(std::move(prefix)) {}
CheckpointWriter::CheckpointWriter(CheckpointWriter&&) noexcept = default;
CheckpointWriter::~CheckpointWriter() = default;

absl::StatusOr<CheckpointWriter> CheckpointWriter::Create(const std::string& prefix) {
  if (const std::string directory = DirectoryOf(prefix); !directory.empty()) {
    RETURN_IF_ERROR(CreateDirectories(directory));
  }
  return CheckpointWriter(prefix);
}

absl::Status CheckpointWriter::Add(absl::string_view name, const Tensor& tensor) {
  RETURN_IF_ERROR(CheckStorable(name, tensor.dtype()));
  std::string key(name);
  if (!entries_.try_emplace(key).second) return NameError(name, "it was saved before");
  pending_.push_back({std::move(key), tensor});
  return absl::OkStatus();
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
  std::string key = SliceKey(name, *box);
  if (!entries_.try_emplace(key).second) {
    return NameError(name, absl::StrCat("slice '", slice.ToString(), "' was saved before"));
  }
  entry.slices.push_back(*box);
  pending_.push_back({std::move(key), part});
  return absl::OkStatus();
}

absl::Status CheckpointWriter::WriteShard(int shard, int num_shards,
                                          absl::Span<const size_t> indices) {
  uint64_t size = 0;
  for (const size_t i : indices) size += StoredBytes(pending_[i].tensor);
  ASSIGN_OR_RETURN(DataFile file, DataFile::Create(ShardPath(prefix_, shard, num_shards), size));
  for (const size_t i : indices) {
    const Tensor& tensor = pending_[i].tensor;
    StoredTensor stored;
    stored.dtype = tensor.dtype();
    stored.shape = tensor.shape();
    if (tensor.dtype() == DType::kString) {
      stored.offset = static_cast<int64_t>(file.size());
      uint32_t ignored = 0;  // the checksum is one of the lengths as numbers
      RETURN_IF_ERROR(file.Append(EncodeStringLengths(tensor, &stored.crc), &ignored));
      for (const std::string& element : tensor.flat<std::string>()) {
        RETURN_IF_ERROR(file.Append(element, &stored.crc));
      }
    } else {
      RETURN_IF_ERROR(file.Align(kBufferAlignment));
      stored.offset = static_cast<int64_t>(file.size());
      RETURN_IF_ERROR(
          file.Append(absl::string_view(tensor.raw(), tensor.size_bytes()), &stored.crc));
    }
    stored.size = static_cast<int64_t>(file.size()) - stored.offset;
    CheckpointIndexEntry& entry = entries_.find(pending_[i].key)->second;
    entry.stored = stored;
    entry.shard = shard;
  }
  return file.Commit();
}

absl::Status CheckpointWriter::Finish() {
  const std::string directory = DirectoryOf(prefix_);
  ASSIGN_OR_RETURN(const auto checkpoints, ListCheckpoints(directory));
  const auto it = checkpoints.find(NameOf(prefix_));
  const CheckpointFileNames before = it == checkpoints.end() ? CheckpointFileNames() : it->second;

  std::vector<uint64_t> sizes(pending_.size());
  std::transform(pending_.begin(), pending_.end(), sizes.begin(),
                 [](const Pending& pending) { return StoredBytes(pending.tensor); });
  const uint64_t total = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  int num_shards = static_cast<int>(
      std::clamp<uint64_t>(total / kBytesOfAShard, 1, std::min(AvailableCores(), kMostShards)));
  // Files of a checkpoint that is replaced stay until the new index is there.
  while (before.data.count(num_shards) > 0) ++num_shards;

  // The largest tensors first, each to the file that is the shortest so far.
  std::vector<size_t> order(pending_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  std::vector<std::vector<size_t>> shards(num_shards);
  std::vector<uint64_t> filled(num_shards);
  for (const size_t i : order) {
    const auto shortest = std::min_element(filled.begin(), filled.end()) - filled.begin();
    shards[shortest].push_back(i);
    filled[shortest] += sizes[i] + kBufferAlignment;
  }
  for (std::vector<size_t>& shard : shards) std::sort(shard.begin(), shard.end());

  std::vector<absl::Status> statuses(num_shards);
  const auto write = [&](int shard) {
    statuses[shard] = WriteShard(shard, num_shards, shards[shard]);
  };
  std::vector<std::thread> threads;
  for (int shard = 1; shard < num_shards; ++shard) threads.emplace_back(write, shard);
  write(0);
  for (std::thread& thread : threads) thread.join();

  const auto remove = [&](const std::string& name) {
    RemoveFile(JoinPath(directory, name)).IgnoreError();
  };
  absl::Status status;
  for (const absl::Status& of_shard : statuses) status.Update(of_shard);
  if (status.ok()) {
    // Renames the index and syncs the directory, which has the names of the data files, too.
    status = WriteCheckpointIndex(prefix_, {.num_shards = num_shards}, entries_);
  }
  if (!status.ok()) {
    for (int shard = 0; shard < num_shards; ++shard) {
      if (statuses[shard].ok()) remove(NameOf(ShardPath(prefix_, shard, num_shards)));
    }
    return status;
  }
  for (const auto& [count, names] : before.data) {
    for (const std::string& name : names) remove(name);
  }
  return absl::OkStatus();
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

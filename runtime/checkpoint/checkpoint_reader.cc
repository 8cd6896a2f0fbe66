#include "runtime/checkpoint/checkpoint_reader.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checkpoint_index.h"
#include "runtime/checkpoint/checkpoint_tensor.h"
#include "runtime/host/mapped_file.h"

namespace tessera {
namespace {

// A line of the index, and whether its bytes were checked: a checksum that was right once is not
// computed again.
struct Entry {
  Entry(absl::string_view key, CheckpointIndexEntry line)
      : key(key), stored(line.stored), shard(line.shard), slices(std::move(line.slices)) {}

  const std::string key;
  const StoredTensor stored;
  const int shard;
  const std::vector<TensorSlice> slices;
  mutable std::atomic<bool> is_checked{false};
};

}  // namespace

class CheckpointReader::Impl {
 public:
  explicit Impl(const std::string& prefix) : prefix_(prefix) {}

  absl::Status ReadIndex() {
    auto header =
        ReadCheckpointIndex(prefix_, [this](absl::string_view key, CheckpointIndexEntry line) {
          entries_.push_back(std::make_unique<Entry>(key, std::move(line)));
          return absl::OkStatus();
        });
    if (!header.ok()) return header.status();
    num_shards_ = header->num_shards;
    return absl::OkStatus();
  }

  std::vector<std::string> TensorNames() const {
    std::vector<std::string> names;
    names.reserve(entries_.size());
    for (const auto& entry : entries_) {
      if (!IsSliceKey(entry->key)) names.push_back(entry->key);
    }
    return names;
  }

  // Null if there is none.
  const Entry* Find(absl::string_view key) const {
    const auto it = std::lower_bound(
        entries_.begin(), entries_.end(), key,
        [](const std::unique_ptr<Entry>& entry, absl::string_view k) { return entry->key < k; });
    return it != entries_.end() && (*it)->key == key ? it->get() : nullptr;
  }

  absl::StatusOr<const Entry*> FindTensor(absl::string_view name) const {
    const Entry* entry = IsSliceKey(name) ? nullptr : Find(name);
    if (entry == nullptr) {
      return absl::NotFoundError(absl::StrCat("tensor '", name, "' is not in checkpoint '", prefix_,
                                              "'; `tessera inspect ", prefix_,
                                              "` lists those that are"));
    }
    return entry;
  }

  absl::StatusOr<Tensor> Read(absl::string_view name, const Entry& entry,
                              const TensorSlice& slice) const {
    auto box = slice.Within(entry.stored.shape);
    if (!box.ok()) return Annotate(box.status(), Prefix(name));
    if (!entry.slices.empty()) return Join(name, entry, *box);

    ASSIGN_OR_RETURN(Tensor whole, Load(name, entry));
    if (box->shape() == whole.shape()) return whole;
    Shape rows = box->shape();
    rows.SetDim(0, whole.dim(0));
    if (rows == whole.shape()) {
      return whole.Slice(box->start[0], box->start[0] + box->length[0]);
    }
    ASSIGN_OR_RETURN(Tensor part, Tensor::Allocate(whole.dtype(), box->shape()));
    const TensorSlice all = *TensorSlice::Whole(whole.rank()).Within(whole.shape());
    CopyBox(*box, whole, all, part, *box);
    return part;
  }

 private:
  std::string Prefix(absl::string_view name) const {
    return absl::StrCat("tensor '", name, "' of checkpoint '", prefix_, "': ");
  }
  std::string Prefix(absl::string_view name, int shard) const {
    return absl::StrCat("tensor '", name, "' in '", ShardPath(prefix_, shard, num_shards_), "': ");
  }

  absl::StatusOr<std::shared_ptr<const MappedFile>> Shard(int shard) const {
    absl::MutexLock lock(&mu_);
    std::shared_ptr<const MappedFile>& file = shards_[shard];
    if (!file) {
      auto opened = MappedFile::Open(ShardPath(prefix_, shard, num_shards_));
      if (absl::IsNotFound(opened.status())) {
        return absl::DataLossError("the file is missing, though the index names it");
      }
      if (!opened.ok()) return opened.status();
      file = *std::move(opened);
    }
    return file;
  }

  // All that can be checked without a look at the tensor's bytes.
  absl::StatusOr<std::shared_ptr<const MappedFile>> Place(absl::string_view name,
                                                          const Entry& entry) const {
    auto file = Shard(entry.shard);
    if (!file.ok()) return Annotate(file.status(), Prefix(name, entry.shard));
    if (absl::Status status = CheckPlace(entry.stored, (*file)->size()); !status.ok()) {
      return Annotate(status, Prefix(name, entry.shard));
    }
    return file;
  }

  // The tensor of an entry that has its bytes itself.
  absl::StatusOr<Tensor> Load(absl::string_view name, const Entry& entry) const {
    ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, Place(name, entry));
    auto tensor = LoadTensor(file, entry.stored, !entry.is_checked.load(std::memory_order_relaxed));
    if (!tensor.ok()) return Annotate(tensor.status(), Prefix(name, entry.shard));
    entry.is_checked.store(true, std::memory_order_relaxed);
    return tensor;
  }

  // The entry of one slice, whose type and shape agree with the whole.
  absl::StatusOr<const Entry*> FindSlice(absl::string_view name, const Entry& whole,
                                         const TensorSlice& slice, const TensorSlice& box) const {
    const Entry* entry = Find(SliceKey(name, slice));
    if (entry == nullptr || !entry->slices.empty() || entry->stored.dtype != whole.stored.dtype ||
        entry->stored.shape != box.shape()) {
      return absl::DataLossError(
          absl::StrCat(Prefix(name), "slice '", slice.ToString(), "' ",
                       entry == nullptr ? "is missing" : "does not fit the whole"));
    }
    return entry;
  }

  // The part `box` of a partitioned tensor, from the slices that it touches.
  absl::StatusOr<Tensor> Join(absl::string_view name, const Entry& whole,
                              const TensorSlice& box) const {
    struct Piece {
      const Entry* entry;
      TensorSlice box;
      TensorSlice common;
    };
    std::vector<Piece> pieces;
    std::vector<TensorSlice> boxes;
    absl::flat_hash_set<const Entry*> seen;
    // Checked before memory is taken: the pieces, whose bytes are there, have no element in common
    // and add up to the part.
    int64_t missing = box.shape().num_elements();
    for (const TensorSlice& slice : whole.slices) {
      Piece piece;
      piece.box = *slice.Within(whole.stored.shape);
      if (!Intersect(piece.box, box, &piece.common)) continue;
      ASSIGN_OR_RETURN(piece.entry, FindSlice(name, whole, slice, piece.box));
      if (piece.box == box) return Load(name, *piece.entry);
      RETURN_IF_ERROR(Place(name, *piece.entry).status());
      if (!seen.insert(piece.entry).second) continue;
      missing -= piece.common.shape().num_elements();
      boxes.push_back(piece.common);
      pieces.push_back(std::move(piece));
    }
    if (missing != 0 || AnyOverlap(std::move(boxes))) {
      return absl::DataLossError(
          absl::StrCat(Prefix(name), "its slices do not cover '", box.ToString(), "' once"));
    }
    ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(whole.stored.dtype, box.shape()));
    for (const Piece& piece : pieces) {
      ASSIGN_OR_RETURN(const Tensor part, Load(name, *piece.entry));
      CopyBox(piece.common, part, piece.box, result, box);
    }
    return result;
  }

  const std::string prefix_;
  int num_shards_ = 0;
  std::vector<std::unique_ptr<Entry>> entries_;  // by key
  mutable absl::Mutex mu_;
  mutable absl::flat_hash_map<int, std::shared_ptr<const MappedFile>> shards_ ABSL_GUARDED_BY(mu_);
};

CheckpointReader::CheckpointReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CheckpointReader::~CheckpointReader() = default;

absl::StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(
    const std::string& prefix) {
  auto impl = std::make_unique<Impl>(prefix);
  RETURN_IF_ERROR(impl->ReadIndex());
  return std::unique_ptr<CheckpointReader>(new CheckpointReader(std::move(impl)));
}

std::vector<std::string> CheckpointReader::TensorNames() const { return impl_->TensorNames(); }

bool CheckpointReader::Contains(absl::string_view name) const {
  return impl_->FindTensor(name).ok();
}

absl::StatusOr<CheckpointEntry> CheckpointReader::Find(absl::string_view name) const {
  ASSIGN_OR_RETURN(const Entry* entry, impl_->FindTensor(name));
  return CheckpointEntry{entry->stored.dtype, entry->stored.shape, !entry->slices.empty()};
}

absl::StatusOr<Tensor> CheckpointReader::Read(absl::string_view name) const {
  ASSIGN_OR_RETURN(const Entry* entry, impl_->FindTensor(name));
  return impl_->Read(name, *entry, TensorSlice::Whole(entry->stored.shape.rank()));
}

absl::StatusOr<Tensor> CheckpointReader::ReadSlice(absl::string_view name,
                                                   const TensorSlice& slice) const {
  ASSIGN_OR_RETURN(const Entry* entry, impl_->FindTensor(name));
  return impl_->Read(name, *entry, slice);
}

}  // namespace tessera

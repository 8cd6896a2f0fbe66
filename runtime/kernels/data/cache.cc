// CacheDataset, CacheDatasetV2: elements that are kept, in memory or in a file, when they come
// first.
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/file_system.h"
#include "runtime/base/tf_record.h"
#include "runtime/data/element_bytes.h"
#include "runtime/data/record_file.h"
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/scalar_output.h"

namespace tessera {
namespace {

using Elements = std::vector<Element>;

// What one iterator has kept for those after it. Thread-safe.
class MemoryCache : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "memory_cache";

  // Returns null as long as nobody came to the end.
  std::shared_ptr<const Elements> elements() const {
    absl::MutexLock lock(&mu_);
    return elements_;
  }
  void Complete(std::shared_ptr<const Elements> elements) {
    absl::MutexLock lock(&mu_);
    if (elements_ == nullptr) elements_ = std::move(elements);
  }
  std::string DebugString() const override { return "memory cache"; }

 private:
  mutable absl::Mutex mu_;
  std::shared_ptr<const Elements> elements_ ABSL_GUARDED_BY(mu_);
};

class MemoryCacheDataset final : public UnaryDataset {
 public:
  MemoryCacheDataset(const DatasetPtr& input, IntrusivePtr<MemoryCache> cache)
      : UnaryDataset(input, input->spec(), input->cardinality()), cache_(std::move(cache)) {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  MemoryCache& cache() const { return *cache_; }

 private:
  const IntrusivePtr<MemoryCache> cache_;
};

class MemoryCacheIterator final : public UnaryIterator<MemoryCacheDataset> {
 public:
  using UnaryIterator::UnaryIterator;

  // The elements are part of the position, for who restores it may have no cache. An iterator that
  // has not begun has seen none: its elements are those of a complete cache.
  absl::Status Transfer(IteratorArchive& archive) override {
    RETURN_IF_ERROR(UnaryIterator::Transfer(archive));
    bool is_reading = kept_ != nullptr;
    RETURN_IF_ERROR(archive.Flag("is_reading", &is_reading));
    RETURN_IF_ERROR(archive.Flag("started", &started_));
    RETURN_IF_ERROR(archive.Number("next", &next_));
    Elements elements;
    if (!archive.restoring()) {
      const auto complete = started_ ? kept_ : dataset().cache().elements();
      elements = complete != nullptr ? *complete : seen_;
    }
    int64_t size = static_cast<int64_t>(elements.size());
    RETURN_IF_ERROR(archive.Number("size", &size));
    for (int64_t i = 0; i < size; ++i) {
      if (archive.restoring()) elements.emplace_back();
      RETURN_IF_ERROR(archive.Tensors(absl::StrCat("element", i), &elements[i]));
    }
    if (!archive.restoring()) return absl::OkStatus();
    if (!is_reading && (started_ || size == 0)) {
      seen_ = std::move(elements);
      return absl::OkStatus();
    }
    const auto complete = std::make_shared<const Elements>(std::move(elements));
    if (is_reading) kept_ = complete;
    dataset().cache().Complete(complete);
    return absl::OkStatus();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (!started_) kept_ = dataset().cache().elements();
    started_ = true;
    if (kept_ != nullptr) {
      if (next_ < static_cast<int64_t>(kept_->size())) {
        *element = (*kept_)[next_++];
        return true;
      }
      // The input may have an error instead of its end.
      return asks_for_end_ ? input().Next(step, element) : absl::StatusOr<bool>(false);
    }
    ASSIGN_OR_RETURN(const bool more, input().Next(step, element));
    if (more) seen_.push_back(*element);
    // Whoever takes as many elements as there are, and no more, never asks for the end.
    asks_for_end_ = more && static_cast<int64_t>(seen_.size()) == dataset().cardinality();
    if (!more || asks_for_end_) Complete();
    return more;
  }

 private:
  // Hands over what was seen, which is the whole dataset.
  void Complete() {
    next_ = static_cast<int64_t>(seen_.size());
    kept_ = std::make_shared<const Elements>(std::move(seen_));
    seen_.clear();
    dataset().cache().Complete(kept_);
  }

  bool started_ = false;
  std::shared_ptr<const Elements> kept_;  // null: this iterator fills the cache
  Elements seen_;
  int64_t next_ = 0;  // in `kept_`
  // Whether this iterator completed the cache by the last element, without the end of the input.
  bool asks_for_end_ = false;
};

std::unique_ptr<Iterator> MemoryCacheDataset::MakeIterator() const {
  return std::make_unique<MemoryCacheIterator>(Share<MemoryCacheDataset>());
}

// Keeps the elements in a file of records. It gets its name when it is complete; until then, each
// iterator that comes writes one of its own.
class FileCacheDataset final : public UnaryDataset {
 public:
  FileCacheDataset(const DatasetPtr& input, const std::string& name)
      : UnaryDataset(input, input->spec(), input->cardinality()), path_(name + ".records") {}
  std::unique_ptr<Iterator> MakeIterator() const override;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

class FileCacheIterator final : public UnaryIterator<FileCacheDataset> {
 public:
  using UnaryIterator::UnaryIterator;

  // Errors: UNIMPLEMENTED while the file is being written.
  absl::Status Transfer(IteratorArchive& archive) override {
    if (writer_ != nullptr) {
      return absl::UnimplementedError(
          "the position in a cache cannot be saved while its file is being written");
    }
    RETURN_IF_ERROR(archive.Flag("ended", &ended_));
    bool is_reading = reader_ != nullptr;
    int64_t position = is_reading ? static_cast<int64_t>(reader_->position()) : 0;
    RETURN_IF_ERROR(archive.Flag("is_reading", &is_reading));
    RETURN_IF_ERROR(archive.Number("position", &position));
    if (!archive.restoring() || !is_reading) return absl::OkStatus();
    ASSIGN_OR_RETURN(reader_, ByteSource::Open(dataset().path(), Compression::kNone));
    return reader_->Skip(position).status();
  }

 protected:
  absl::StatusOr<bool> Produce(StepContext& step, Element* element) override {
    if (ended_) return false;
    if (reader_ == nullptr && writer_ == nullptr) RETURN_IF_ERROR(Begin());
    if (reader_ != nullptr) {
      std::string record;
      ASSIGN_OR_RETURN(const bool more, ReadRecord(*reader_, &record));
      if (!more) return false;
      ASSIGN_OR_RETURN(*element, ElementFromBytes(record));
      RETURN_IF_ERROR(dataset().spec().CheckTypes(*element));
      return true;
    }
    ASSIGN_OR_RETURN(const bool more, input().Next(step, element));
    if (more) {
      ASSIGN_OR_RETURN(const std::string bytes, ElementToBytes(*element));
      std::string record;
      AppendTfRecord(bytes, &record);
      RETURN_IF_ERROR(writer_->Append(record));
      return true;
    }
    ended_ = true;
    const std::unique_ptr<AtomicFile> complete = std::move(writer_);
    RETURN_IF_ERROR(complete->Commit());
    return false;
  }

 private:
  absl::Status Begin() {
    if (FileExists(dataset().path())) {
      ASSIGN_OR_RETURN(reader_, ByteSource::Open(dataset().path(), Compression::kNone));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(dataset().path()));
    writer_ = std::make_unique<AtomicFile>(std::move(file));
    return absl::OkStatus();
  }

  std::unique_ptr<ByteSource> reader_;
  std::unique_ptr<AtomicFile> writer_;
  bool ended_ = false;
};

std::unique_ptr<Iterator> FileCacheDataset::MakeIterator() const {
  return std::make_unique<FileCacheIterator>(Share<FileCacheDataset>());
}

absl::StatusOr<DatasetPtr> MakeCache(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const DatasetPtr input, DatasetInput(ctx, 0));
  ASSIGN_OR_RETURN(const std::string filename, ScalarInput<std::string>(ctx, 1, "filename"));
  if (!filename.empty()) return std::make_shared<FileCacheDataset>(input, filename);
  // Version 2 may name a cache that outlives the dataset.
  auto cache = MakeRefCounted<MemoryCache>();
  if (ctx.num_inputs() > 2) {
    if (auto named = ctx.Resource<MemoryCache>(2); named.ok()) cache = *std::move(named);
  }
  return std::make_shared<MemoryCacheDataset>(input, std::move(cache));
}
REGISTER_DATASET("CacheDataset", MakeCache);
REGISTER_DATASET("CacheDatasetV2", MakeCache);

// The handles own the cache; the deleter is a value that nobody looks at.
class MemoryCacheKernel final : public OpKernel {
 public:
  explicit MemoryCacheKernel(const KernelBuild& build) : name_(build.node_name()) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    ResourceHandle handle;
    handle.name = name_;
    handle.type_name = std::string(MemoryCache::kTypeName);
    handle.resource = MakeRefCounted<MemoryCache>();
    RETURN_IF_ERROR(SetScalarOutput(ctx, 0, std::move(handle)));
    return SetScalarOutput(ctx, 1, Variant());
  }

 private:
  const std::string name_;
};
REGISTER_KERNEL("AnonymousMemoryCache", kCpu, MemoryCacheKernel);

}  // namespace
}  // namespace tessera

#include "runtime/tensor/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "runtime/base/logging.h"
#include "runtime/host/mapping_guard.h"
#include "runtime/tensor/large_blocks.h"

namespace tessera {
namespace {

// A header whose bytes follow one alignment unit after its beginning.
class HeapBuffer final : public Buffer {
 public:
  HeapBuffer(char* data, size_t size, void* block) : Buffer(data, size, true), block_(block) {}

 private:
  void Destroy() const override {
    void* const block = block_;
    this->~HeapBuffer();
    std::free(block);
  }

  void* const block_;
};

class LargeBuffer final : public Buffer {
 public:
  LargeBuffer(char* data, size_t size, size_t block_size)
      : Buffer(data, size, true), block_size_(block_size) {}

 private:
  void Destroy() const override {
    void* const block = const_cast<LargeBuffer*>(this);
    const size_t block_size = block_size_;
    this->~LargeBuffer();
    FreeLargeBlock(block, block_size);
  }

  const size_t block_size_;
};

// A buffer that is whole pages of a mapping.
class WeightsBuffer final : public Buffer {
 public:
  WeightsBuffer(char* data, size_t size) : Buffer(data, size, true) {}
  ~WeightsBuffer() override {
    DropPages(data_, size_);  // in slices, which hold nobody up
    ::munmap(data_, size_);
  }
};

static_assert(sizeof(HeapBuffer) <= kBufferAlignment);
static_assert(sizeof(LargeBuffer) <= kBufferAlignment);

char* AlignUp(char* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return p + (-address & (kBufferAlignment - 1));
}

absl::Status OutOfMemory(size_t size) {
  return absl::ResourceExhaustedError(
      absl::StrCat("out of memory: cannot allocate ", size, " bytes"));
}

class ProcessHeap final : public Allocator {
 public:
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override {
    IntrusivePtr<Buffer> buffer = AllocateHeapBuffer(size);
    if (!buffer) [[unlikely]]
      return OutOfMemory(size);
    return buffer;
  }
};

// Puts blocks side by side in huge pages, because the matrix of a small layer does not fill one,
// nor the last part of a large matrix its last one. Memory that is given back is not handed out
// again; what a huge page holds beside a block that has gone stays in place.
class PagesForWeights final : public Allocator {
 public:
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override {
    if (size < kMinBlock || size > SIZE_MAX / 2) return HeapAllocator()->Allocate(size);
    Fresh fresh;
    char* const block = Take(RoundUp(size, kPage), &fresh);
    if (block == nullptr) return HeapAllocator()->Allocate(size);
    // Outside the lock, because the first huge page may take a while.
    if (fresh.size > 0) AskForHugePages(fresh.begin, fresh.size, &trials_);
    return IntrusivePtr<Buffer>(MakeRefCounted<WeightsBuffer>(block, size));
  }

 private:
  static constexpr size_t kPage = size_t{1} << 12;
  // Smaller blocks come from the heap.
  static constexpr size_t kMinBlock = size_t{1} << 16;
  // Blocks below this size come from the heap if a new huge page would have to begin for them, of
  // which they would fill little.
  static constexpr size_t kMinFirstBlock = size_t{1} << 19;
  // The address space that is reserved at a time.
  static constexpr size_t kReserved = size_t{1} << 26;

  // Huge pages that a block is the first one to use.
  struct Fresh {
    char* begin = nullptr;
    size_t size = 0;
  };

  static size_t RoundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

  // Returns null for a small block, and if memory runs out.
  char* Take(size_t size, Fresh* fresh) {
    absl::MutexLock lock(&mu_);
    if (size < kMinFirstBlock && static_cast<size_t>(asked_ - next_) < size) return nullptr;
    if (static_cast<size_t>(end_ - next_) < size) {
      const size_t reserved = RoundUp(std::max(size, kReserved), kHugePage);
      char* const map = static_cast<char*>(MapAtHugePage(reserved));
      if (map == nullptr) return nullptr;
      if (end_ > next_) ::munmap(next_, static_cast<size_t>(end_ - next_));
      next_ = asked_ = map;
      end_ = map + reserved;
    }
    char* const block = next_;
    next_ += size;
    if (next_ > asked_) {
      *fresh = {asked_, RoundUp(static_cast<size_t>(next_ - asked_), kHugePage)};
      asked_ += fresh->size;
    }
    return block;
  }

  HugePageTrials trials_;
  absl::Mutex mu_;
  // [next_, end_) is mapped and not handed out. Huge pages were asked for, where they come quickly,
  // up to asked_.
  char* next_ ABSL_GUARDED_BY(mu_) = nullptr;
  char* asked_ ABSL_GUARDED_BY(mu_) = nullptr;
  char* end_ ABSL_GUARDED_BY(mu_) = nullptr;
};

class FileBuffer final : public Buffer {
 public:
  FileBuffer(std::shared_ptr<const MappedFile> file, size_t offset, size_t size)
      : Buffer(const_cast<char*>(file->data()) + offset, size, false), file_(std::move(file)) {}

 private:
  const std::shared_ptr<const MappedFile> file_;
};

class WrappedBuffer final : public Buffer {
 public:
  WrappedBuffer(std::shared_ptr<const void> owner, char* data, size_t size, bool writable)
      : Buffer(data, size, writable), owner_(std::move(owner)) {}

 private:
  const std::shared_ptr<const void> owner_;
};

}  // namespace

absl::string_view MemoryKindName(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kHost:
      return "host";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kDevice:
      break;
  }
  return "device";
}

void Buffer::FailHostAccess() const {
  LOG(FATAL) << "the host touches a buffer of " << size_ << " bytes in "
             << MemoryKindName(memory_kind_) << " memory: a copy to the host is missing";
  std::abort();
}

IntrusivePtr<Buffer> AllocateHeapBuffer(size_t size) {
  if (size < kLargeBlockSize) [[likely]] {
    // malloc aligns to 16 bytes. Aligning by hand costs up to 48 bytes, and is much faster than
    // aligned_alloc, which has no fast path for small sizes.
    auto* block = static_cast<char*>(std::malloc(size + 2 * kBufferAlignment - 16));
    if (block == nullptr) [[unlikely]]
      return nullptr;
    char* header = AlignUp(block);
    return IntrusivePtr<Buffer>(new (header) HeapBuffer(header + kBufferAlignment, size, block));
  }
  if (size > SIZE_MAX / 2) [[unlikely]]
    return nullptr;
  size_t block_size;
  void* block = AllocateLargeBlock(size + kBufferAlignment, &block_size);
  if (block == nullptr) [[unlikely]]
    return nullptr;
  return IntrusivePtr<Buffer>(
      new (block) LargeBuffer(static_cast<char*>(block) + kBufferAlignment, size, block_size));
}

Allocator* HeapAllocator() {
  static ProcessHeap* const heap = new ProcessHeap;
  return heap;
}

Allocator* WeightsAllocator() {
  static PagesForWeights* const pages = new PagesForWeights;
  return pages;
}

IntrusivePtr<Buffer> MapBuffer(std::shared_ptr<const MappedFile> file, size_t offset, size_t size) {
  CHECK(offset <= file->size() && size <= file->size() - offset)
      << "bytes " << offset << " to " << offset + size << " of " << file->path();
  return MakeRefCounted<FileBuffer>(std::move(file), offset, size);
}

IntrusivePtr<Buffer> WrapBuffer(std::shared_ptr<const void> owner, char* data, size_t size,
                                bool writable) {
  return MakeRefCounted<WrappedBuffer>(std::move(owner), data, size, writable);
}

}  // namespace tessera

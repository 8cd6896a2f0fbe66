#include "runtime/tensor/buffer.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
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

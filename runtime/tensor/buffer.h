// The memory behind tensors, and the allocators that provide it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/base/ref_count.h"
#include "runtime/host/mapped_file.h"

namespace tessera {

// The alignment of every allocated buffer: that of a cache line and of the widest vector register.
inline constexpr size_t kBufferAlignment = 64;

// The kind of memory that holds the bytes of a buffer. It decides who may access them.
enum class MemoryKind : uint8_t {
  kHost,    // memory of the process
  kPinned,  // page-locked memory of the process, which a device can copy asynchronously
  kDevice,  // memory of one device, which the host must not access
};
inline constexpr int kNumMemoryKinds = 3;

inline bool IsHostAccessible(MemoryKind kind) { return kind != MemoryKind::kDevice; }
// Returns "host", "pinned" or "device".
absl::string_view MemoryKindName(MemoryKind kind);

// A block of bytes that tensors share. The subclass decides where the bytes lie: on the heap, in an
// arena, in a mapped file, in the memory of a request, on a device. The reference count is
// thread-safe; the owners synchronise their access to the bytes.
class Buffer : public RefCounted {
 public:
  // The bytes, for the host to access. A debug build aborts if the host may not access them.
  char* data() const {
    CheckHostAccess();
    return data_;
  }
  // The address of the bytes in memory of any kind, to compute with or to give to the device.
  char* address() const { return data_; }
  size_t size() const { return size_; }
  // False for memory that nobody may write, such as a mapped checkpoint. Kernels then copy instead
  // of working in place.
  bool writable() const { return writable_; }
  MemoryKind memory_kind() const { return memory_kind_; }

 protected:
  Buffer(char* data, size_t size, bool writable, MemoryKind memory_kind = MemoryKind::kHost)
      : data_(data), size_(size), writable_(writable), memory_kind_(memory_kind) {}

  char* data_;
  size_t size_;

 private:
  void CheckHostAccess() const {
#ifndef NDEBUG
    if (!IsHostAccessible(memory_kind_)) FailHostAccess();
#endif
  }
  [[noreturn]] void FailHostAccess() const;

  const bool writable_;
  const MemoryKind memory_kind_;
};

// Provides buffers of one memory kind. Thread-safe.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // Returns `size` bytes of uninitialised memory, aligned to kBufferAlignment; `size` may be 0.
  // Errors: RESOURCE_EXHAUSTED.
  virtual absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) = 0;
};

// Returns the allocator of the process's heap. The header and the bytes of a buffer are one block.
// Blocks of a mebibyte and more go back to the system soon after they are freed
// (runtime/tensor/large_blocks.h).
Allocator* HeapAllocator();

// Returns the allocator for data that is written once and kept long, such as packed weights. Blocks
// of 64 KiB and more lie side by side in huge pages, for as long as those come quickly: where the
// host of a virtual machine has to find the memory first, small pages follow (docs/performance.md).
// The memory of such a block goes back to the system as soon as it is freed; smaller blocks come
// from the heap. Thread-safe.
Allocator* WeightsAllocator();

// Does what HeapAllocator()->Allocate() does without the virtual call. Returns null if memory runs
// out.
IntrusivePtr<Buffer> AllocateHeapBuffer(size_t size);

// Returns a read-only buffer of `size` bytes at `offset` of a mapped file. It keeps the mapping
// alive. Requires offset + size <= file->size().
IntrusivePtr<Buffer> MapBuffer(std::shared_ptr<const MappedFile> file, size_t offset, size_t size);

// Returns a buffer of bytes that belong to `owner`, such as the payload of a request, and keeps
// `owner` alive.
IntrusivePtr<Buffer> WrapBuffer(std::shared_ptr<const void> owner, char* data, size_t size,
                                bool writable);

}  // namespace tessera

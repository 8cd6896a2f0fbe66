// Memory behind tensors, and who provides it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/base/ref_count.h"
#include "runtime/host/mapped_file.h"

namespace tessera {

// Alignment of every allocated buffer: a cache line, and the widest vector register.
inline constexpr size_t kBufferAlignment = 64;

// Where the bytes of a buffer lie, and so who may touch them.
enum class MemoryKind : uint8_t {
  kHost,    // memory of the process
  kPinned,  // memory of the process that a device copies from and to without stopping for the host
  kDevice,  // memory of one device; the host must not touch it
};
inline constexpr int kNumMemoryKinds = 3;

inline bool IsHostAccessible(MemoryKind kind) { return kind != MemoryKind::kDevice; }
// "host", "pinned" or "device".
absl::string_view MemoryKindName(MemoryKind kind);

// A block of bytes shared by tensors. The subclass decides where the bytes live: the heap, an arena,
// a mapped file, a request's own memory, a device. The count is thread-safe; access to the bytes is
// the owners' responsibility.
class Buffer : public RefCounted {
 public:
  // The bytes, for the host. A debug build aborts if the host may not touch them.
  char* data() const {
    CheckHostAccess();
    return data_;
  }
  // The address of the bytes, to compute with or to hand to the device; any memory kind.
  char* address() const { return data_; }
  size_t size() const { return size_; }
  // False for memory nobody may write (a mapped checkpoint): kernels then copy instead of
  // working in place.
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
  // Uninitialised memory, aligned to kBufferAlignment. size 0 is fine.
  // Errors: RESOURCE_EXHAUSTED.
  virtual absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) = 0;
};

// The process's heap: header and bytes in one block. Blocks of a mebibyte and more go back to the
// system soon after they are freed (runtime/tensor/large_blocks.h).
Allocator* HeapAllocator();

// For what is written once and kept long: weights in the form that kernels want. Memory goes back
// to the system as soon as it is freed. Its pages are small, whatever its size: where a virtual
// machine's host has to find the memory first, huge ones were seen to come at 0.25 GB/s and small
// ones at 2. Steps of ResNet-50 and BERT-base with one input took about a hundredth longer then.
// Blocks below a mebibyte come from the heap. Thread-safe.
Allocator* WeightsAllocator();

// HeapAllocator()->Allocate() without the virtual call; null if memory is out.
IntrusivePtr<Buffer> AllocateHeapBuffer(size_t size);

// `size` bytes at `offset` of a mapped file, read-only. Keeps the map alive.
// Requires offset + size <= file->size().
IntrusivePtr<Buffer> MapBuffer(std::shared_ptr<const MappedFile> file, size_t offset, size_t size);

// Bytes that belong to `owner`, which is kept alive: a request's payload, a numpy array.
IntrusivePtr<Buffer> WrapBuffer(std::shared_ptr<const void> owner, char* data, size_t size,
                                bool writable);

}  // namespace tessera

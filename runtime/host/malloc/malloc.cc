// malloc: mimalloc, but for blocks of the size in which gRPC reads, which come from SharedBlocks.
//
// What is not defined here is mimalloc's own and never gets such a block. `new` is, because a
// mimalloc that was built as C, such as Debian's, ends the process where it has no memory, and
// kernels are expected to throw std::bad_alloc (runtime/framework/kernel_call.h).
#include <mimalloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "runtime/host/shared_blocks.h"

using tessera::shared_blocks;
using tessera::SharedBlocks;

namespace {

void* OrThrow(void* block) {
  if (block == nullptr) [[unlikely]]
    throw std::bad_alloc();
  return block;
}

size_t Bytes(std::align_val_t alignment) { return static_cast<size_t>(alignment); }

}  // namespace

extern "C" {

void* malloc(size_t size) noexcept {
  if (SharedBlocks::IsFor(size)) {
    if (void* block = shared_blocks.Take()) return block;
  }
  return mi_malloc(size);
}

void free(void* block) noexcept {
  if (shared_blocks.Owns(block)) {
    shared_blocks.Put(block);
  } else {
    mi_free(block);
  }
}

void* realloc(void* block, size_t size) noexcept {
  if (!shared_blocks.Owns(block)) return mi_realloc(block, size);
  if (SharedBlocks::IsFor(size)) return block;
  void* moved = mi_malloc(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, block, std::min(size, SharedBlocks::kBlockSize));
  shared_blocks.Put(block);
  return moved;
}

void* reallocarray(void* block, size_t count, size_t size) noexcept {
  size_t bytes;
  if (!__builtin_mul_overflow(count, size, &bytes)) return realloc(block, bytes);
  errno = ENOMEM;
  return nullptr;
}

size_t malloc_usable_size(void* block) noexcept {
  return shared_blocks.Owns(block) ? SharedBlocks::kBlockSize : mi_malloc_usable_size(block);
}

}  // extern "C"

void* operator new(size_t size) { return OrThrow(mi_malloc(size)); }
void* operator new[](size_t size) { return OrThrow(mi_malloc(size)); }
void* operator new(size_t size, std::align_val_t alignment) {
  return OrThrow(mi_malloc_aligned(size, Bytes(alignment)));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return OrThrow(mi_malloc_aligned(size, Bytes(alignment)));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return mi_malloc(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return mi_malloc(size); }
void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return mi_malloc_aligned(size, Bytes(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return mi_malloc_aligned(size, Bytes(alignment));
}

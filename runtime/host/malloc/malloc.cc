// malloc: mimalloc, but for blocks of the size in which gRPC reads, which come from SharedBlocks.
//
// What is not defined here is mimalloc's own and never gets such a block.
#include <mimalloc.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/host/shared_blocks.h"

using tessera::shared_blocks;
using tessera::SharedBlocks;

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

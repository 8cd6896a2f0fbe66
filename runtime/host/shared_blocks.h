// SharedBlocks: a free list of equal memory blocks that all threads share.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace tessera {

// gRPC reads large messages into blocks of 64 KiB. mimalloc has a heap for each thread, which
// returns memory to the system only when that thread allocates or frees again. After a burst of
// large messages each of gRPC's idle threads would keep tens of megabytes. Our malloc therefore
// takes blocks of this size from here: the block that one thread frees is reused by the next
// thread, and any thread can return the free ones to the system.
//
// Thread-safe. The constructor is constexpr, so that an object can be used before main().
class SharedBlocks {
 public:
  // Requests of kMinSize to kBlockSize bytes are for this class: 64 KiB and a header.
  static constexpr size_t kMinSize = size_t{64} << 10;
  static constexpr size_t kBlockSize = kMinSize + (size_t{4} << 10);
  // The number of blocks in the address range. When all are in use, malloc uses its own heap.
  static constexpr size_t kMaxBlocks = (size_t{1} << 30) / kBlockSize;

  constexpr SharedBlocks() = default;
  SharedBlocks(const SharedBlocks&) = delete;
  SharedBlocks& operator=(const SharedBlocks&) = delete;

  static bool IsFor(size_t size) { return size - kMinSize <= kBlockSize - kMinSize; }

  // Returns the block that was freed last, or a new one. It is aligned to a page, and its contents
  // are unspecified. Returns null if all blocks are in use.
  void* Take();
  // Returns whether a pointer points into a block.
  bool Owns(const void* pointer) const {
    return reinterpret_cast<uintptr_t>(pointer) - base_.load(std::memory_order_relaxed) <
           kMaxBlocks * kBlockSize;
  }
  // Frees a block that Take() returned.
  void Put(void* block);

  // Returns the memory of blocks that have been free since the last call to the system. Returns the
  // number of bytes.
  size_t GiveBackIdle();

 private:
  // The base while nothing is mapped: Owns() is false for all addresses.
  static constexpr uintptr_t kNoBase = UINTPTR_MAX - kMaxBlocks * kBlockSize;

  bool Map() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool GiveBackOne();

  std::atomic<uintptr_t> base_ = kNoBase;
  absl::Mutex mu_{absl::kConstInit};
  bool mapped_ ABSL_GUARDED_BY(mu_) = false;
  // The number of blocks that have ever been taken. The blocks after them have not.
  size_t num_used_ ABSL_GUARDED_BY(mu_) = 0;
  // Indices of the free blocks among those; the one that was freed last is at the end.
  std::array<uint16_t, kMaxBlocks> free_ ABSL_GUARDED_BY(mu_) = {};
  size_t num_free_ ABSL_GUARDED_BY(mu_) = 0;
  // The first num_idle_ entries of free_ have been there since the last GiveBackIdle(), and the
  // first num_empty_ of them hold no memory.
  size_t num_idle_ ABSL_GUARDED_BY(mu_) = 0;
  size_t num_empty_ ABSL_GUARDED_BY(mu_) = 0;
  static_assert(kMaxBlocks <= UINT16_MAX);
};

// The blocks of malloc. A global variable, because malloc() has no argument that could carry them.
extern SharedBlocks shared_blocks;

}  // namespace tessera

// SharedBlocks: blocks of one size that threads hand on to each other.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace tessera {

// gRPC reads large messages into blocks of 64 KiB. mimalloc has a heap for each thread, which gives
// memory back only when that thread allocates or frees again: after a burst of large messages each
// of gRPC's threads would sit idle on tens of megabytes. Blocks of this size therefore come from
// here (third_party/malloc.cc): what one thread frees the next takes, and any thread can give back
// what is left.
//
// Thread-safe. May be used before main(); never destroyed.
class SharedBlocks {
 public:
  // Of 64 KiB and a small header.
  static constexpr size_t kMinSize = size_t{64} << 10;
  static constexpr size_t kBlockSize = kMinSize + (size_t{4} << 10);
  // Where more are needed malloc's own blocks do.
  static constexpr size_t kMaxBlocks = (size_t{1} << 30) / kBlockSize;

  constexpr SharedBlocks() = default;
  SharedBlocks(const SharedBlocks&) = delete;
  SharedBlocks& operator=(const SharedBlocks&) = delete;

  static bool IsFor(size_t size) { return size - kMinSize <= kBlockSize - kMinSize; }

  // The block that was freed last, aligned to a page, with unspecified contents; null if there is
  // none.
  void* Take();
  // Whether a pointer is into a block.
  bool Owns(const void* pointer) const {
    return reinterpret_cast<uintptr_t>(pointer) - base_.load(std::memory_order_relaxed) <
           kMaxBlocks * kBlockSize;
  }
  void Put(void* block);

  // Gives back to the system what has been free since the call before. Returns the bytes.
  size_t GiveBackIdle();

 private:
  // No address is at or after it.
  static constexpr uintptr_t kNoBase = UINTPTR_MAX - kMaxBlocks * kBlockSize;

  bool Map() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool GiveBackOne();

  std::atomic<uintptr_t> base_ = kNoBase;
  absl::Mutex mu_{absl::kConstInit};
  bool mapped_ ABSL_GUARDED_BY(mu_) = false;
  // Blocks from here on were never taken.
  size_t num_used_ ABSL_GUARDED_BY(mu_) = 0;
  // The free ones among the others, by index; the one freed last is at the end.
  std::array<uint16_t, kMaxBlocks> free_ ABSL_GUARDED_BY(mu_) = {};
  size_t num_free_ ABSL_GUARDED_BY(mu_) = 0;
  // Of the free ones so many at the beginning have been free since the last GiveBackIdle(), and so
  // many of these hold no memory.
  size_t num_idle_ ABSL_GUARDED_BY(mu_) = 0;
  size_t num_empty_ ABSL_GUARDED_BY(mu_) = 0;
  static_assert(kMaxBlocks <= UINT16_MAX);
};

// Those of malloc.
extern SharedBlocks shared_blocks;

}  // namespace tessera

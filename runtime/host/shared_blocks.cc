#include "runtime/host/shared_blocks.h"

#include <sys/mman.h>

#include <algorithm>

namespace tessera {

ABSL_CONST_INIT SharedBlocks shared_blocks;

void* SharedBlocks::Take() {
  absl::MutexLock lock(&mu_);
  size_t index;
  if (num_free_ > 0) {
    index = free_[--num_free_];
    num_idle_ = std::min(num_idle_, num_free_);
    num_empty_ = std::min(num_empty_, num_free_);
  } else {
    if (num_used_ == kMaxBlocks || !Map()) return nullptr;
    index = num_used_++;
  }
  return reinterpret_cast<void*>(base_.load(std::memory_order_relaxed) + index * kBlockSize);
}

void SharedBlocks::Put(void* block) {
  absl::MutexLock lock(&mu_);
  const uintptr_t base = base_.load(std::memory_order_relaxed);
  free_[num_free_++] =
      static_cast<uint16_t>((reinterpret_cast<uintptr_t>(block) - base) / kBlockSize);
}

size_t SharedBlocks::GiveBackIdle() {
  size_t bytes = 0;
  while (GiveBackOne()) bytes += kBlockSize;
  return bytes;
}

// One at a time: takes and puts wait meanwhile.
bool SharedBlocks::GiveBackOne() {
  absl::MutexLock lock(&mu_);
  if (num_empty_ == num_idle_) {
    num_idle_ = num_free_;
    return false;
  }
  const uintptr_t base = base_.load(std::memory_order_relaxed);
  ::madvise(reinterpret_cast<void*>(base + free_[num_empty_] * kBlockSize), kBlockSize,
            MADV_DONTNEED);
  ++num_empty_;
  return true;
}

bool SharedBlocks::Map() {
  if (mapped_) return base_.load(std::memory_order_relaxed) != kNoBase;
  mapped_ = true;
  // Addresses alone: memory comes with the first write to a page.
  void* map = ::mmap(nullptr, kMaxBlocks * kBlockSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return false;
  base_.store(reinterpret_cast<uintptr_t>(map), std::memory_order_relaxed);
  return true;
}

}  // namespace tessera

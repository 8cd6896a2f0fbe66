// An allocator for tests, which counts the allocations that it passes on to the heap.
#pragma once

#include <atomic>

#include "runtime/tensor/buffer.h"

namespace tessera {

// Thread-safe.
class CountingAllocator : public Allocator {
 public:
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override {
    ++count;
    return HeapAllocator()->Allocate(size);
  }
  std::atomic<int> count{0};
};

}  // namespace tessera

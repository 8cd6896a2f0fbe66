// For tests: the heap, with a count of what it is asked for.
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

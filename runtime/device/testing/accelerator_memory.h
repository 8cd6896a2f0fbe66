// Memory of an accelerator for tests, which the host faults on.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/device/memory/bfc_allocator.h"
#include "runtime/framework/device.h"
#include "runtime/tensor/buffer.h"

namespace tessera {

class LateStream;

// All bits of memory without a value are set: NaN as a float or double, -1 as an integer.
inline constexpr int kPoisonByte = 0xFF;

// A BfcAllocator over a region that is mapped twice: without access for the addresses that are
// handed out, and readable and writable for the threads of streams. Memory is poisoned in stream
// order when it is first handed out and whenever it is released, so that a kernel which reads what
// nobody wrote, or what was released, gives NaNs.
//
// Thread-safe. All buffers must be released before this is destroyed; otherwise the process aborts.
class AcceleratorMemory final : private RegionSource, private StreamOrder {
 public:
  // Memory for the streams of one accelerator, the first of which is LateStream::main() of all of
  // them. They must outlive the last release of a buffer.
  // Errors: RESOURCE_EXHAUSTED if the region cannot be mapped.
  static absl::StatusOr<std::unique_ptr<AcceleratorMemory>> Make(
      size_t capacity, const std::vector<LateStream*>& streams);
  ~AcceleratorMemory() override;

  // The allocator for buffers that work on streams[i] uses. Errors of its Allocate(): those of
  // BfcAllocator.
  Allocator* allocator(int i) const { return allocators_[i].get(); }
  DeviceStats stats() const { return memory_->stats(); }
  // See BfcAllocator. For LateStream::Then().
  int64_t Mark(int stream) const { return memory_->Mark(stream); }
  void Passed(int stream, int64_t mark) { memory_->Passed(stream, mark); }
  // How often a stream was made to wait for another because memory changed hands.
  int64_t num_orders() const { return num_orders_; }

  // What lies at an address that some accelerator of the process has handed out.
  struct Place {
    const LateStream* stream = nullptr;  // the first; null: it is no accelerator's address
    char* alias = nullptr;
  };
  static Place Find(const char* address);

 private:
  class Block;
  class StreamAllocator;

  AcceleratorMemory(char* addresses, char* aliases, size_t capacity,
                    const std::vector<LateStream*>& streams);
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size, int stream);
  void Poison(const char* address, size_t size, int stream);
  // RegionSource: the one region.
  absl::StatusOr<char*> Allocate(size_t size) override;
  void Free(char* /*region*/, size_t /*size*/) override {}
  void AwaitWork() override {}  // memory that does not grow never asks for it
  // StreamOrder.
  void Order(int earlier, int later) override;

  char* const addresses_;
  char* const aliases_;
  const size_t capacity_;
  const std::vector<LateStream*> streams_;
  std::vector<std::unique_ptr<Allocator>> allocators_;
  std::atomic<int64_t> num_orders_{0};

  absl::Mutex mu_;
  const char* first_unused_ ABSL_GUARDED_BY(mu_);  // nothing from here on was ever handed out
  std::unique_ptr<BfcAllocator> memory_;
};

// The host's memory in which an accelerator's kernels get their host arguments and scratch memory.
// It is poisoned when it is handed out and when it is released: a kernel that leaves a part of such
// an output unwritten gives NaNs, and so does work that reads it when nobody holds it any more. A
// buffer may outlive the device. Thread-safe.
class PoisonedHostMemory final : public Allocator {
 public:
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override;
};

// Host memory that counts as pinned. A buffer may outlive the device. Thread-safe.
class PinnedMemory final : public Allocator {
 public:
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override;
};

}  // namespace tessera

// Memory of an accelerator for tests, which the host faults on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/device.h"
#include "runtime/tensor/buffer.h"

namespace tessera {

class LateStream;

// All bits of memory without a value are set: NaN as a float or double, -1 as an integer.
inline constexpr int kPoisonByte = 0xFF;

// Maps one region of memory twice: without access for the addresses that are handed out, and
// readable and writable for the stream's thread. Blocks are powers of two in size and are reused as
// soon as they are released, as with a real accelerator's allocator, because whoever gets the bytes
// next enqueues its work later. A block is poisoned in stream order when it is first handed out and
// whenever it is released, so that a kernel which reads what nobody wrote, or what was released,
// gives NaNs.
//
// Thread-safe. All buffers must be released before this is destroyed; otherwise the process aborts.
class AcceleratorMemory final : public Allocator {
 public:
  // `stream` must outlive the last release of a buffer.
  // Errors: RESOURCE_EXHAUSTED if the region cannot be mapped.
  static absl::StatusOr<std::unique_ptr<AcceleratorMemory>> Make(size_t capacity,
                                                                 LateStream* stream);
  ~AcceleratorMemory() override;

  // Errors: RESOURCE_EXHAUSTED, saying how much is in use, if no block is left.
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override;
  DeviceStats stats() const;

  // What lies at an address that some accelerator of the process has handed out.
  struct Place {
    const LateStream* stream = nullptr;  // null: it is no accelerator's address
    char* alias = nullptr;
  };
  static Place Find(const char* address);

 private:
  class Block;

  AcceleratorMemory(char* addresses, char* aliases, size_t capacity, LateStream* stream);
  void Poison(size_t offset, size_t block_size);
  void Release(size_t offset, size_t block_size);

  char* const addresses_;
  char* const aliases_;
  const size_t capacity_;
  LateStream* const stream_;

  mutable absl::Mutex mu_;
  size_t first_unused_ ABSL_GUARDED_BY(mu_) = 0;  // nothing from here on was ever handed out
  std::map<size_t, std::vector<size_t>> free_ ABSL_GUARDED_BY(mu_);  // block size -> offsets
  DeviceStats stats_ ABSL_GUARDED_BY(mu_);
};

// Host memory that counts as pinned. A buffer may outlive the device. Thread-safe.
class PinnedMemory final : public Allocator {
 public:
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override;
};

}  // namespace tessera

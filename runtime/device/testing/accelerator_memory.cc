#include "runtime/device/testing/accelerator_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/device/memory/allocation_label.h"
#include "runtime/device/testing/late_stream.h"

namespace tessera {
namespace {

// Maps the whole of a shared file at an address of the system's choice; null if it cannot.
char* Map(int file, size_t size, int protection) {
  void* const map = ::mmap(nullptr, size, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  return map == MAP_FAILED ? nullptr : static_cast<char*>(map);
}

// The memories of the process. A buffer alone does not say whose it is: executors put many tensors
// into one block (runtime/exec/planned_memory.h).
struct Memories {
  absl::Mutex mu;
  std::vector<const AcceleratorMemory*> all ABSL_GUARDED_BY(mu);
};
Memories& AllMemories() {
  static auto* const memories = new Memories;
  return *memories;
}

class PinnedBuffer final : public Buffer {
 public:
  explicit PinnedBuffer(IntrusivePtr<Buffer> heap)
      : Buffer(heap->data(), heap->size(), /*writable=*/true, MemoryKind::kPinned),
        heap_(std::move(heap)) {}

 private:
  const IntrusivePtr<Buffer> heap_;
};

}  // namespace

class AcceleratorMemory::Block final : public Buffer {
 public:
  Block(AcceleratorMemory* memory, size_t offset, size_t block_size, size_t size)
      : Buffer(memory->addresses_ + offset, size, /*writable=*/true, MemoryKind::kDevice),
        memory_(memory),
        offset_(offset),
        block_size_(block_size) {}
  ~Block() override { memory_->Release(offset_, block_size_); }

 private:
  AcceleratorMemory* const memory_;
  const size_t offset_, block_size_;
};

absl::StatusOr<std::unique_ptr<AcceleratorMemory>> AcceleratorMemory::Make(size_t capacity,
                                                                           LateStream* stream) {
  const int file = ::memfd_create("test_accelerator", MFD_CLOEXEC);
  const bool is_sized = file >= 0 && ::ftruncate(file, static_cast<off_t>(capacity)) == 0;
  char* const addresses = is_sized ? Map(file, capacity, PROT_NONE) : nullptr;
  char* const aliases = is_sized ? Map(file, capacity, PROT_READ | PROT_WRITE) : nullptr;
  if (file >= 0) ::close(file);
  if (addresses == nullptr || aliases == nullptr) {
    if (addresses != nullptr) ::munmap(addresses, capacity);
    if (aliases != nullptr) ::munmap(aliases, capacity);
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot map ", capacity, " bytes as the memory of ", stream->device_name()));
  }
  return std::unique_ptr<AcceleratorMemory>(
      new AcceleratorMemory(addresses, aliases, capacity, stream));
}

AcceleratorMemory::AcceleratorMemory(char* addresses, char* aliases, size_t capacity,
                                     LateStream* stream)
    : addresses_(addresses), aliases_(aliases), capacity_(capacity), stream_(stream) {
  Memories& memories = AllMemories();
  absl::MutexLock lock(&memories.mu);
  memories.all.push_back(this);
}

AcceleratorMemory::Place AcceleratorMemory::Find(const char* address) {
  Memories& memories = AllMemories();
  absl::MutexLock lock(&memories.mu);
  for (const AcceleratorMemory* memory : memories.all) {
    if (address < memory->addresses_ || address >= memory->addresses_ + memory->capacity_) continue;
    return {memory->stream_, memory->aliases_ + (address - memory->addresses_)};
  }
  return {};
}

AcceleratorMemory::~AcceleratorMemory() {
  CHECK(stats().bytes_in_use == 0)
      << stats().bytes_in_use << " bytes of an accelerator's memory outlive it";
  {
    Memories& memories = AllMemories();
    absl::MutexLock lock(&memories.mu);
    memories.all.erase(std::find(memories.all.begin(), memories.all.end(), this));
  }
  ::munmap(addresses_, capacity_);
  ::munmap(aliases_, capacity_);
}

absl::StatusOr<IntrusivePtr<Buffer>> AcceleratorMemory::Allocate(size_t size) {
  const size_t block_size =
      size > capacity_ ? size : std::bit_ceil(std::max(size, kBufferAlignment));
  size_t offset;
  bool is_reused;
  {
    absl::MutexLock lock(&mu_);
    std::vector<size_t>& free = free_[block_size];
    is_reused = !free.empty();
    if (is_reused) {
      offset = free.back();
      free.pop_back();
    } else if (block_size <= capacity_ - first_unused_) {
      offset = first_unused_;
      first_unused_ += block_size;
    } else {
      return absl::ResourceExhaustedError(
          absl::StrCat("out of memory on ", stream_->device_name(), ": cannot allocate ", size,
                       " bytes, ", stats_.bytes_in_use, " of ", capacity_,
                       " are in use; asked for by '", AllocationLabel::Current(), "'"));
    }
    stats_.bytes_in_use += static_cast<int64_t>(block_size);
    stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
    ++stats_.num_allocations;
  }
  if (!is_reused) Poison(offset, block_size);
  return IntrusivePtr<Buffer>(MakeRefCounted<Block>(this, offset, block_size, size));
}

void AcceleratorMemory::Poison(size_t offset, size_t block_size) {
  stream_->Enqueue([alias = aliases_ + offset, block_size] {
    std::memset(alias, kPoisonByte, block_size);
    return absl::OkStatus();
  });
}

void AcceleratorMemory::Release(size_t offset, size_t block_size) {
  // The poison is enqueued before anybody else can get the block.
  Poison(offset, block_size);
  absl::MutexLock lock(&mu_);
  free_[block_size].push_back(offset);
  stats_.bytes_in_use -= static_cast<int64_t>(block_size);
}

DeviceStats AcceleratorMemory::stats() const {
  absl::MutexLock lock(&mu_);
  DeviceStats stats = stats_;
  stats.bytes_limit = static_cast<int64_t>(capacity_);
  return stats;
}

absl::StatusOr<IntrusivePtr<Buffer>> PinnedMemory::Allocate(size_t size) {
  ASSIGN_OR_RETURN(IntrusivePtr<Buffer> heap, HeapAllocator()->Allocate(size));
  return IntrusivePtr<Buffer>(MakeRefCounted<PinnedBuffer>(std::move(heap)));
}

}  // namespace tessera

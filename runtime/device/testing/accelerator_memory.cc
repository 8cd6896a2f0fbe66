#include "runtime/device/testing/accelerator_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"
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

class PoisonedBuffer final : public Buffer {
 public:
  explicit PoisonedBuffer(IntrusivePtr<Buffer> heap)
      : Buffer(heap->data(), heap->size(), /*writable=*/true), heap_(std::move(heap)) {
    std::memset(data_, kPoisonByte, size_);
  }
  ~PoisonedBuffer() override { std::memset(data_, kPoisonByte, size_); }

 private:
  const IntrusivePtr<Buffer> heap_;
};

class PinnedBuffer final : public Buffer {
 public:
  explicit PinnedBuffer(IntrusivePtr<Buffer> heap)
      : Buffer(heap->data(), heap->size(), /*writable=*/true, MemoryKind::kPinned),
        heap_(std::move(heap)) {}

 private:
  const IntrusivePtr<Buffer> heap_;
};

}  // namespace

// A buffer of the allocator's, poisoned when it is released.
class AcceleratorMemory::Block final : public Buffer {
 public:
  Block(AcceleratorMemory* memory, int stream, IntrusivePtr<Buffer> bytes)
      : Buffer(bytes->address(), bytes->size(), /*writable=*/true, MemoryKind::kDevice),
        memory_(memory),
        stream_(stream),
        bytes_(std::move(bytes)) {}
  // The poison is enqueued before anybody else can get the bytes.
  ~Block() override { memory_->Poison(bytes_->address(), bytes_->size(), stream_); }

 private:
  AcceleratorMemory* const memory_;
  const int stream_;
  const IntrusivePtr<Buffer> bytes_;
};

class AcceleratorMemory::StreamAllocator final : public Allocator {
 public:
  StreamAllocator(AcceleratorMemory* memory, int stream) : memory_(memory), stream_(stream) {}
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override {
    return memory_->Allocate(size, stream_);
  }

 private:
  AcceleratorMemory* const memory_;
  const int stream_;
};

absl::StatusOr<std::unique_ptr<AcceleratorMemory>> AcceleratorMemory::Make(
    size_t capacity, const std::vector<LateStream*>& streams) {
  const int file = ::memfd_create("test_accelerator", MFD_CLOEXEC);
  const bool is_sized = file >= 0 && ::ftruncate(file, static_cast<off_t>(capacity)) == 0;
  char* const addresses = is_sized ? Map(file, capacity, PROT_NONE) : nullptr;
  char* const aliases = is_sized ? Map(file, capacity, PROT_READ | PROT_WRITE) : nullptr;
  if (file >= 0) ::close(file);
  if (addresses == nullptr || aliases == nullptr) {
    if (addresses != nullptr) ::munmap(addresses, capacity);
    if (aliases != nullptr) ::munmap(aliases, capacity);
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot map ", capacity, " bytes as the memory of ", streams[0]->device_name()));
  }
  return std::unique_ptr<AcceleratorMemory>(
      new AcceleratorMemory(addresses, aliases, capacity, streams));
}

AcceleratorMemory::AcceleratorMemory(char* addresses, char* aliases, size_t capacity,
                                     const std::vector<LateStream*>& streams)
    : addresses_(addresses),
      aliases_(aliases),
      capacity_(capacity),
      streams_(streams),
      first_unused_(addresses) {
  memory_ = std::make_unique<BfcAllocator>(
      BfcAllocator::Options{.name = streams[0]->device_name(), .limit = capacity},
      static_cast<RegionSource*>(this), static_cast<StreamOrder*>(this));
  for (size_t i = 0; i < streams.size(); ++i) {
    allocators_.push_back(std::make_unique<StreamAllocator>(this, memory_->AddStream()));
  }
  Memories& memories = AllMemories();
  absl::MutexLock lock(&memories.mu);
  memories.all.push_back(this);
}

AcceleratorMemory::Place AcceleratorMemory::Find(const char* address) {
  Memories& memories = AllMemories();
  absl::MutexLock lock(&memories.mu);
  for (const AcceleratorMemory* memory : memories.all) {
    if (address < memory->addresses_ || address >= memory->addresses_ + memory->capacity_) continue;
    return {memory->streams_[0], memory->aliases_ + (address - memory->addresses_)};
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

absl::StatusOr<IntrusivePtr<Buffer>> AcceleratorMemory::Allocate(size_t size, int stream) {
  ASSIGN_OR_RETURN(IntrusivePtr<Buffer> bytes, memory_->Allocate(size, stream));
  const char* const end = bytes->address() + size;
  const char* fresh = bytes->address();
  {
    absl::MutexLock lock(&mu_);
    fresh = std::max(fresh, first_unused_);
    first_unused_ = std::max(first_unused_, end);
  }
  if (fresh < end) Poison(fresh, end - fresh, stream);
  return IntrusivePtr<Buffer>(MakeRefCounted<Block>(this, stream, std::move(bytes)));
}

void AcceleratorMemory::Poison(const char* address, size_t size, int stream) {
  if (size == 0) return;
  streams_[stream]->Enqueue([alias = aliases_ + (address - addresses_), size] {
    std::memset(alias, kPoisonByte, size);
    return absl::OkStatus();
  });
}

absl::StatusOr<char*> AcceleratorMemory::Allocate(size_t size) {
  if (size > capacity_) return absl::ResourceExhaustedError("all memory is taken");
  return addresses_;
}

void AcceleratorMemory::Order(int earlier, int later) {
  ++num_orders_;
  streams_[later]->WaitFor(*streams_[earlier]);
}

absl::StatusOr<IntrusivePtr<Buffer>> PoisonedHostMemory::Allocate(size_t size) {
  ASSIGN_OR_RETURN(IntrusivePtr<Buffer> heap, HeapAllocator()->Allocate(size));
  return IntrusivePtr<Buffer>(MakeRefCounted<PoisonedBuffer>(std::move(heap)));
}

absl::StatusOr<IntrusivePtr<Buffer>> PinnedMemory::Allocate(size_t size) {
  ASSIGN_OR_RETURN(IntrusivePtr<Buffer> heap, HeapAllocator()->Allocate(size));
  return IntrusivePtr<Buffer>(MakeRefCounted<PinnedBuffer>(std::move(heap)));
}

}  // namespace tessera

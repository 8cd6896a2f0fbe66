#include "runtime/exec/planned_memory.h"

#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/base/status.h"

namespace tessera {
namespace {

// The size up to which a block is kept between runs in any case.
constexpr size_t kMaxKeptBytes = size_t{1} << 16;

size_t RoundUp(size_t size) {
  return (size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

// Returns an address that identifies the calling thread.
const void* ThisThread() {
  static thread_local const char here = 0;
  return &here;
}

}  // namespace

// The bytes of a run, and the state of each place. Each buffer that outlives the run holds a
// reference.
class PlannedMemory::Block final : public RefCounted {
 public:
  explicit Block(size_t num_places)
      : num_places_(num_places), states_(std::make_unique<std::atomic<uint8_t>[]>(num_places)) {}

  // Starts a run on the calling thread. What is kept for the next run lies elsewhere in that one:
  // kernels that pack weights once they come a second time know them by their address, and would
  // take new values in an old place for such.
  absl::Status Begin(size_t size, Allocator* allocator, Idle idle) {
    if (idle == Idle::kKeep) {
      size += kBufferAlignment;
      shift_ = kBufferAlignment - shift_;
    }
    if (!bytes_) {
      ASSIGN_OR_RETURN(bytes_, allocator->Allocate(size));
      // Headers are written by the host, which cannot access the memory of a device.
      if (!IsHostAccessible(bytes_->memory_kind()) && headers_ == nullptr) {
        headers_ = std::make_unique<Header[]>(num_places_);
      }
    }
    ForgetReleases();
    thread_.store(ThisThread(), std::memory_order_relaxed);
    return absl::OkStatus();
  }

  // Ends the run. Returns false if some buffers are still held; then the block belongs to them.
  bool End(Idle idle) {
    thread_.store(nullptr, std::memory_order_relaxed);
    const bool is_empty = num_held_ == 0 || LeaveToHolders();
    const bool is_kept = idle == Idle::kKeep || bytes_->size() <= kMaxKeptBytes;
    if (is_empty && !is_kept) bytes_.reset();
    return is_empty;
  }

  // Returns a buffer of `size` bytes for `place`, which lies at `offset` of the block.
  IntrusivePtr<Buffer> Take(uint32_t place, size_t offset, size_t size);

  void Release(uint32_t place) {
    if (thread_.load(std::memory_order_relaxed) == ThisThread()) {
      MarkReleased(place);
      --num_held_;
      return;
    }
    // After the exchange the run may end, and destroy the block. If the run has left the block to
    // its holders before, released_ does not change any more.
    const uint8_t state = states_[place].exchange(released_.load(std::memory_order_relaxed),
                                                  std::memory_order_acq_rel);
    if (state == kOutlives) Unref();
  }

  bool IsHeld(uint32_t place) const {
    return states_[place].load(std::memory_order_acquire) == kHeld;
  }
  // Returns whether the buffer of the place was released in this run.
  bool IsReleased(uint32_t place) const {
    return states_[place].load(std::memory_order_acquire) ==
           released_.load(std::memory_order_relaxed);
  }
  void MarkReleased(uint32_t place) {
    states_[place].store(released_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

 private:
  // The states of places. Any other number means: released in the run with that number.
  static constexpr uint8_t kUnused = 0, kHeld = 1, kOutlives = 2, kFirstRun = 3;

  // Gives the run another number than earlier runs. Before a number is used again, after 253 runs,
  // all states are reset.
  void ForgetReleases() {
    uint8_t run = static_cast<uint8_t>(released_.load(std::memory_order_relaxed) + 1);
    if (run == 0) {
      for (size_t i = 0; i < num_places_; ++i) {
        states_[i].store(kUnused, std::memory_order_relaxed);
      }
      run = kFirstRun;
    }
    released_.store(run, std::memory_order_relaxed);
  }

  // Leaves the block to the buffers that are held. Returns true if other threads have released all
  // of them in the meantime.
  bool LeaveToHolders() {
    bool is_empty = true;
    for (size_t i = 0; i < num_places_; ++i) {
      uint8_t state = kHeld;
      if (states_[i].load(std::memory_order_acquire) != state) continue;
      Ref();
      if (states_[i].compare_exchange_strong(state, kOutlives, std::memory_order_acq_rel)) {
        is_empty = false;
      } else {
        Unref();  // just released; the caller has a reference, too
      }
    }
    num_held_ = 0;
    return is_empty;
  }

  // Memory for the header of a buffer.
  struct alignas(kBufferAlignment) Header {
    char bytes[kBufferAlignment];
  };

  const size_t num_places_;
  const std::unique_ptr<std::atomic<uint8_t>[]> states_;
  std::atomic<uint8_t> released_{kFirstRun - 1};  // the state of what this run has released
  std::atomic<const void*> thread_{nullptr};      // of the run that goes on
  size_t num_held_ = 0;                           // or released by other threads
  IntrusivePtr<Buffer> bytes_;
  size_t shift_ = 0;                   // of all places in this run
  std::unique_ptr<Header[]> headers_;  // by place; null where they lie in the block
};

// A buffer whose header lies in the block, before its bytes, if the host can access the block.
class PlannedMemory::PlacedBuffer final : public Buffer {
 public:
  PlacedBuffer(char* data, size_t size, MemoryKind kind, Block* block, uint32_t place)
      : Buffer(data, size, /*writable=*/true, kind), block_(block), place_(place) {}

 private:
  void Destroy() const override {
    Block* const block = block_;
    const uint32_t place = place_;
    this->~PlacedBuffer();
    block->Release(place);
  }

  Block* const block_;
  const uint32_t place_;
};

// Inline, because every planned output comes from here.
inline IntrusivePtr<Buffer> PlannedMemory::Block::Take(uint32_t place, size_t offset, size_t size) {
  states_[place].store(kHeld, std::memory_order_relaxed);
  ++num_held_;
  char* const start = bytes_->address() + shift_ + offset;
  void* const header = headers_ == nullptr ? static_cast<void*>(start) : &headers_[place];
  return IntrusivePtr<Buffer>(new (header) PlacedBuffer(start + kBufferAlignment, size,
                                                        bytes_->memory_kind(), this, place));
}

size_t PlannedMemory::BytesFor(size_t size) {
  static_assert(sizeof(PlacedBuffer) <= kBufferAlignment);
  return kBufferAlignment + RoundUp(size);
}

PlannedMemory::PlannedMemory(std::shared_ptr<const MemoryPlan> plan, Idle idle)
    : plan_(std::move(plan)), idle_(idle) {}
PlannedMemory::~PlannedMemory() = default;

absl::Status PlannedMemory::Begin(Allocator* allocator) {
  // What a kept block held is released in the order of the stream that its allocator belongs to.
  if (allocator != allocator_) block_.reset();
  allocator_ = allocator;
  if (!block_) block_ = MakeRefCounted<Block>(plan_->places().size());
  return block_->Begin(plan_->size(), allocator, idle_);
}

void PlannedMemory::End() {
  if (!block_->End(idle_)) block_.reset();
}

absl::StatusOr<IntrusivePtr<Buffer>> PlannedMemory::Allocate(size_t size) {
  const MemoryPlan::Place& place = plan_->places()[this->place()];
  if (size > place.size || block_->IsHeld(this->place()) || !IsFree(this->place())) {
    return allocator_->Allocate(size);
  }
  return block_->Take(this->place(), place.offset, size);
}

bool PlannedMemory::IsFree(uint32_t place) const {
  const MemoryPlan::Place& wanted = plan_->places()[place];
  for (uint32_t i = 0; i < wanted.num_predecessors; ++i) {
    const uint32_t before = plan_->predecessors()[wanted.first_predecessor + i];
    if (block_->IsReleased(before)) continue;
    // A place that this run did not use tells nothing about its own predecessors.
    if (block_->IsHeld(before) || !IsFree(before)) return false;
    block_->MarkReleased(before);
  }
  return true;
}

}  // namespace tessera

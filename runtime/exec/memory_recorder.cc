#include "runtime/exec/memory_recorder.h"

#include <atomic>
#include <utility>

#include "runtime/base/status.h"

namespace tessera {

class MemoryRecorder::Notes final : public RefCounted {
 public:
  explicit Notes(uint32_t num_places) : uses(num_places) {}

  struct Use {
    size_t size = 0;
    uint32_t first = 0;
    std::atomic<int64_t> last{-1};  // -1: held
  };

  std::vector<Use> uses;
  std::atomic<uint32_t> now{0};  // the first place of the node that asked last
};

class MemoryRecorder::NotedBuffer final : public Buffer {
 public:
  NotedBuffer(IntrusivePtr<Buffer> bytes, IntrusivePtr<Notes> notes, uint32_t place)
      : Buffer(bytes->address(), bytes->size(), /*writable=*/true, bytes->memory_kind()),
        bytes_(std::move(bytes)),
        notes_(std::move(notes)),
        place_(place) {}
  ~NotedBuffer() override {
    notes_->uses[place_].last.store(notes_->now.load(std::memory_order_relaxed),
                                    std::memory_order_release);
  }

 private:
  const IntrusivePtr<Buffer> bytes_;
  const IntrusivePtr<Notes> notes_;
  const uint32_t place_;
};

MemoryRecorder::MemoryRecorder(uint32_t num_places, Allocator* allocator)
    : allocator_(allocator), notes_(MakeRefCounted<Notes>(num_places)) {}
MemoryRecorder::~MemoryRecorder() = default;

absl::StatusOr<IntrusivePtr<Buffer>> MemoryRecorder::Allocate(size_t size) {
  ASSIGN_OR_RETURN(IntrusivePtr<Buffer> bytes, allocator_->Allocate(size));
  notes_->now.store(first_place(), std::memory_order_relaxed);
  notes_->uses[place()].size = size;
  notes_->uses[place()].first = first_place();
  return IntrusivePtr<Buffer>(MakeRefCounted<NotedBuffer>(std::move(bytes), notes_, place()));
}

std::vector<MemoryUse> MemoryRecorder::Uses() const {
  std::vector<MemoryUse> uses(notes_->uses.size());
  for (size_t i = 0; i < uses.size(); ++i) {
    const Notes::Use& use = notes_->uses[i];
    const int64_t last = use.last.load(std::memory_order_acquire);
    if (last >= 0) uses[i] = {use.size, use.first, static_cast<uint32_t>(last)};
  }
  return uses;
}

}  // namespace tessera

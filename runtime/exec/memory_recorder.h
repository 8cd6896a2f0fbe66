// Records the allocations of a run, for a plan.
#pragma once

#include <memory>
#include <vector>

#include "runtime/exec/memory_plan.h"
#include "runtime/framework/output_memory.h"

namespace tessera {

// Gives outputs memory from another allocator, and records their sizes and how long they are held.
// Buffers may be released by any thread, even after the recorder is destroyed.
class MemoryRecorder final : public OutputMemory {
 public:
  // `allocator` must outlive the recorder.
  MemoryRecorder(uint32_t num_places, Allocator* allocator);
  ~MemoryRecorder() override;

  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override;

  // Returns the allocation of each place, after the last node. Those still held have size 0.
  std::vector<MemoryUse> Uses() const;

 private:
  class Notes;
  class NotedBuffer;

  Allocator* const allocator_;
  const IntrusivePtr<Notes> notes_;
};

}  // namespace tessera

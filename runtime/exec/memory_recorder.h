// What a run asks for, written down for a plan.
#pragma once

#include <memory>
#include <vector>

#include "runtime/exec/memory_plan.h"
#include "runtime/framework/output_memory.h"

namespace tessera {

// Gives outputs memory of another allocator's, and notes their sizes and for how long they are
// held. Buffers may be released by any thread, also after the recorder is gone.
class MemoryRecorder final : public OutputMemory {
 public:
  // `allocator` must outlive the recorder.
  MemoryRecorder(uint32_t num_places, Allocator* allocator);
  ~MemoryRecorder() override;

  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override;

  // What was asked for at each place, after the last node. What is held still has no size.
  std::vector<MemoryUse> Uses() const;

 private:
  class Notes;
  class NotedBuffer;

  Allocator* const allocator_;
  const IntrusivePtr<Notes> notes_;
};

}  // namespace tessera

// The memory of one run that follows a plan.
#pragma once

#include <memory>

#include "runtime/exec/memory_plan.h"
#include "runtime/framework/output_memory.h"

namespace tessera {

// Gives outputs their places of a plan, in a block that it has for a run at a time. What has no
// place, asks for more than its place has, or finds its bytes held by what the plan took for
// released, comes from the heap: a plan is never trusted with what a tensor holds.
//
// Begin() and End() enclose a run, all of whose calls are one thread's. Buffers may be released by
// any thread, also after the run, whose block then stays for them alone.
class PlannedMemory final : public OutputMemory {
 public:
  explicit PlannedMemory(std::shared_ptr<const MemoryPlan> plan);
  ~PlannedMemory() override;

  // Bytes of a block that a buffer of `size` bytes takes.
  static size_t BytesFor(size_t size);

  const MemoryPlan& plan() const { return *plan_; }

  // The block, and what has no place in it, come from `allocator`. Errors: RESOURCE_EXHAUSTED.
  absl::Status Begin(Allocator* allocator);
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override;
  // A small block stays for the next run, a larger one is given back.
  void End();

 private:
  class Block;
  class PlacedBuffer;

  // True if nobody holds bytes of a place, which is not held itself.
  bool IsFree(uint32_t place) const;

  const std::shared_ptr<const MemoryPlan> plan_;
  Allocator* allocator_ = nullptr;
  IntrusivePtr<Block> block_;
};

}  // namespace tessera

// The output memory of a run that follows a plan.
#pragma once

#include <memory>

#include "runtime/exec/memory_plan.h"
#include "runtime/framework/output_memory.h"

namespace tessera {

// Places outputs in one block of memory, at the offsets of a plan. An output comes from the heap if
// it has no place in the plan, if it is larger than its place, or if its bytes are still held. So a
// run that differs from the plan is slower but never wrong.
//
// Begin() and End() enclose a run. One thread makes all calls. Buffers may be released by any
// thread, even after the run; then they keep the block, and the next run gets another one.
class PlannedMemory final : public OutputMemory {
 public:
  // The fate of the block between two runs.
  enum class Idle {
    kGiveBack,  // only a small block is kept, so that no memory is held between requests
    kKeep,      // the next run comes at once, as in training
  };

  explicit PlannedMemory(std::shared_ptr<const MemoryPlan> plan, Idle idle = Idle::kGiveBack);
  ~PlannedMemory() override;

  // Returns the bytes of the block that a buffer of `size` bytes takes.
  static size_t BytesFor(size_t size);

  const MemoryPlan& plan() const { return *plan_; }

  // Takes the block, and memory for outputs without a place in it, from `allocator`. A block of
  // another allocator is not kept.
  // Errors: RESOURCE_EXHAUSTED.
  absl::Status Begin(Allocator* allocator);
  absl::StatusOr<IntrusivePtr<Buffer>> Allocate(size_t size) override;
  // Keeps the block for the next run, or gives it back; see Idle.
  void End();

 private:
  class Block;
  class PlacedBuffer;

  // Returns whether nobody holds bytes of a place. Requires that the place itself is not held.
  bool IsFree(uint32_t place) const;

  const std::shared_ptr<const MemoryPlan> plan_;
  const Idle idle_;
  Allocator* allocator_ = nullptr;
  IntrusivePtr<Block> block_;
};

}  // namespace tessera

// The plan of where the outputs of a straight-through run lie in one block of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// The allocation of a run for one place of its program (runtime/framework/output_memory.h).
struct MemoryUse {
  size_t size = 0;  // in bytes; 0 if there was none, or if it outlived the run
  // The first place of its node, and that of the last node that allocated before it was released.
  uint32_t first = 0, last = 0;
};

// Gives an offset to each output that is released before the run ends. Outputs that are held at the
// same time get separate bytes; others may share bytes. A later run may hold outputs longer than
// the run that the plan was made from. So a run must check that bytes are free before it uses them
// again, and each place has a list of predecessors, the places whose bytes it takes over.
//
// The largest outputs are placed first, each in the smallest gap that is free while it is held: the
// algorithm "greedy by size" of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
// Inference", 2020. Immutable.
class MemoryPlan {
 public:
  struct Place {
    size_t offset = 0;
    size_t size = 0;  // 0 if the place has no bytes here, and its memory comes from elsewhere
    // The range in predecessors() with the last places before this one of each of its bytes.
    uint32_t first_predecessor = 0;
    uint32_t num_predecessors = 0;
  };

  // Makes a plan for runs with arguments of these shapes. uses[i] is the allocation of place i.
  MemoryPlan(std::vector<Shape> shapes, absl::Span<const MemoryUse> uses);

  const std::vector<Shape>& shapes() const { return shapes_; }
  // Returns whether the arguments have the shapes of the plan.
  bool Fits(absl::Span<const Tensor> args) const;

  const std::vector<Place>& places() const { return places_; }
  const std::vector<uint32_t>& predecessors() const { return predecessors_; }
  // The size of the block in bytes; 0 if a plan is not worth while.
  size_t size() const { return size_; }

 private:
  void SetOffsets(absl::Span<const MemoryUse> uses);
  void SetPredecessors();

  const std::vector<Shape> shapes_;
  std::vector<Place> places_;
  std::vector<uint32_t> predecessors_;
  size_t size_ = 0;
};

}  // namespace tessera

// Where the outputs of a straight-through run lie in one block of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// What a run asked for at one place of its program (runtime/framework/output_memory.h).
struct MemoryUse {
  size_t size = 0;  // bytes; 0: nothing, or it outlived the run
  // The first place of its node, and that of the last node that asked before it was released.
  uint32_t first = 0, last = 0;
};

// Offsets for what is held for a part of a run only: what is held at the same time lies apart, and
// the rest shares bytes. A run after the plan need not be like the one it was made of; so what it
// holds must be looked at before bytes are used again, for which each place knows whose bytes it
// takes over.
//
// The largest come first, each in the smallest gap that is left for as long as it is held: greedy
// by size, of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020.
// Immutable.
class MemoryPlan {
 public:
  struct Place {
    size_t offset = 0;
    size_t size = 0;  // 0: none, memory comes from elsewhere
    // In predecessors(): the last places before this one of each of its bytes.
    uint32_t first_predecessor = 0;
    uint32_t num_predecessors = 0;
  };

  // For runs with arguments of these shapes; uses[i] is what was asked for at place i.
  MemoryPlan(std::vector<Shape> shapes, absl::Span<const MemoryUse> uses);

  const std::vector<Shape>& shapes() const { return shapes_; }
  // True if the arguments have the plan's shapes.
  bool Fits(absl::Span<const Tensor> args) const;

  const std::vector<Place>& places() const { return places_; }
  const std::vector<uint32_t>& predecessors() const { return predecessors_; }
  // Bytes of the block. 0 if a plan does not pay.
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

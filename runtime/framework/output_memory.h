// Memory that an executor plans for the outputs of a run.
#pragma once

#include <cstdint>

#include "runtime/tensor/buffer.h"

namespace tessera {

// The allocator of the outputs of one run. It learns which output each allocation is for. The
// outputs of a program are numbered in the order of the nodes; the number of an output is its
// place. Used by one thread at a time.
class OutputMemory : public Allocator {
 public:
  // Says that the next allocation is for output `output` of the node whose first output has the
  // place `first_place`.
  void SetPlace(uint32_t first_place, int output) {
    first_place_ = first_place;
    place_ = first_place + static_cast<uint32_t>(output);
  }

 protected:
  uint32_t first_place() const { return first_place_; }
  uint32_t place() const { return place_; }

 private:
  uint32_t first_place_ = 0;
  uint32_t place_ = 0;
};

}  // namespace tessera

// Memory that an executor has planned for the outputs of a run.
#pragma once

#include <cstdint>

#include "runtime/tensor/buffer.h"

namespace tessera {

// The allocator of the outputs of one run, which is told of each one whose it is. Every output of a
// program has a place, a number; those of a node follow one another, and those of later nodes come
// after them. Used by one thread at a time.
class OutputMemory : public Allocator {
 public:
  // What is allocated next is output `output` of the node whose first output is at `first_place`.
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

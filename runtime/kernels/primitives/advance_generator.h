// Generators of random numbers whose state is a tensor.
#pragma once

#include "runtime/kernels/primitives/philox.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// Adds `blocks` to a counter as TensorFlow does: word by word, where the carry of the lowest word
// into the next one is lost if `blocks` has 0xffffffff there. Skips by negative numbers do.
TESSERA_DEVICE_FUNCTION inline void AddToCounter(uint64_t blocks, uint64_t* low, uint64_t* high) {
  const uint64_t sum = (*low & 0xffffffff) + (blocks & 0xffffffff);
  const auto upper = static_cast<uint32_t>((blocks >> 32) + (sum >> 32));
  const uint64_t upper_sum = (*low >> 32) + upper;
  *low = (upper_sum << 32) | (sum & 0xffffffff);
  *high += upper_sum >> 32;
}

// A state is three words: both halves of the counter, the lower one first, and the key.
// Returns the generator of a state, and moves its counter on by `blocks`.
TESSERA_DEVICE_FUNCTION inline Philox AdvanceState(int64_t* words, uint64_t blocks) {
  const Philox current(static_cast<uint64_t>(words[2]), static_cast<uint64_t>(words[0]),
                       static_cast<uint64_t>(words[1]));
  uint64_t low = current.counter_low(), high = current.counter_high();
  AddToCounter(blocks, &low, &high);
  words[0] = static_cast<int64_t>(low);
  words[1] = static_cast<int64_t>(high);
  return current;
}

TESSERA_DEVICE_FUNCTION inline void StoreState(const Philox& generator, int64_t* words) {
  words[0] = static_cast<int64_t>(generator.counter_low());
  words[1] = static_cast<int64_t>(generator.counter_high());
  words[2] = static_cast<int64_t>(generator.key());
}

struct AdvanceGenerator {
  // Copies the state at the beginning of `state`, a vector of int64, to `before`, which is int64[3]
  // or uint64[3], and moves it on by `blocks`.
  using Function = absl::Status(KernelContext& ctx, uint64_t blocks, Tensor* state, Tensor* before);
};

}  // namespace tessera

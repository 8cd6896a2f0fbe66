// Random generators for seeds that are tensors.
#pragma once

#include "runtime/kernels/primitives/philox.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// Returns the generator for a pair of seeds of a stateless op. Seeds are often small and close to
// each other, so that a block of another generator spreads them.
TESSERA_DEVICE_FUNCTION inline Philox PhiloxOfSeeds(uint64_t seed, uint64_t seed2) {
  Philox scrambler(0x02461e293ec8f720, seed, seed2);
  const Philox::Block mixed = scrambler.Next();
  return Philox(mixed[0] | (uint64_t{mixed[1]} << 32), 0, mixed[2] | (uint64_t{mixed[3]} << 32));
}

struct KeyOfSeeds {
  // Sets `key`, uint64[1], and `counter`, uint64[2], to the key and the counter of PhiloxOfSeeds()
  // for the two elements of `seeds`, which has an integer dtype.
  using Function = absl::Status(KernelContext& ctx, const Tensor& seeds, Tensor* key,
                                Tensor* counter);
};

}  // namespace tessera

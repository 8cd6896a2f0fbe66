// Random permutations of ranges, index by index: TensorFlow's random::index_shuffle.
#pragma once

#include <array>
#include <cstdint>

namespace tessera {

using ShuffleKey = std::array<uint32_t, 3>;

// Returns where the permutation of [0, max_index] that belongs to the key takes the index. The
// index is encrypted by the Simon cipher (Beaulieu et al., "The Simon and Speck families of
// lightweight block ciphers", 2013) until the result lies in the range. Requires index <=
// max_index, and an even number of rounds that is at least 4.
uint64_t ShuffledIndex(uint64_t index, const ShuffleKey& key, uint64_t max_index, int64_t rounds);

}  // namespace tessera

#include "runtime/kernels/random/shuffled_index.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

// The cipher with words of `bits` bits, from 8 to 32.
class SimonCipher {
 public:
  SimonCipher(int bits, const ShuffleKey& key, int64_t rounds)
      : bits_(bits), mask_((uint64_t{1} << bits) - 1) {
    for (const uint32_t word : key) round_keys_.push_back(word & mask_);
    uint64_t constants = 0x7369f885192c0ef5;
    while (static_cast<int64_t>(round_keys_.size()) < rounds) {
      const size_t i = round_keys_.size();
      round_keys_.push_back((0xfffffffc ^ (constants & 1) ^ round_keys_[i - 3] ^
                             RotateRight(round_keys_[i - 1], 3) ^
                             RotateRight(round_keys_[i - 1], 4)) &
                            mask_);
      constants = (constants & mask_) >> 1;
    }
  }

  uint64_t Encrypt(uint64_t block) const {
    uint64_t high = block >> bits_ & mask_, low = block & mask_;
    for (size_t i = 0; i + 1 < round_keys_.size(); i += 2) {
      high ^= Mix(low) ^ round_keys_[i];
      low ^= Mix(high) ^ round_keys_[i + 1];
    }
    return high << bits_ | low;
  }

 private:
  uint64_t RotateLeft(uint64_t x, int by) const { return (x << by | x >> (bits_ - by)) & mask_; }
  uint64_t RotateRight(uint64_t x, int by) const { return RotateLeft(x, bits_ - by); }
  uint64_t Mix(uint64_t x) const {
    return (RotateLeft(x, 1) & RotateLeft(x, 8 % bits_)) ^ RotateLeft(x, 2);
  }

  const int bits_;
  const uint64_t mask_;
  std::vector<uint64_t> round_keys_;
};

}  // namespace

uint64_t ShuffledIndex(uint64_t index, const ShuffleKey& key, uint64_t max_index, int64_t rounds) {
  if (max_index == 0) return 0;
  // A block must hold max_index, and has two words. TensorFlow rounds the logarithm in double.
  const int needed = static_cast<int>(std::ceil(std::log2(static_cast<double>(max_index))));
  const int block = std::max(needed + needed % 2, 16);
  const SimonCipher cipher(block / 2, key, rounds);
  // The cipher is a permutation of the blocks, so that the walk comes back to the range.
  do {
    index = cipher.Encrypt(index);
  } while (index > max_index);
  return index;
}

}  // namespace tessera

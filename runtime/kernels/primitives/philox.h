// Philox 4x32-10, the counter-based random number generator behind all random ops: the n-th block
// of four numbers is a function of n and a key, so that threads can start anywhere.
//
// J. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/device_function.h"

namespace tessera {

// The generator is a value type: copies continue independently.
//
//   Philox generator(seed, seed2);
//   generator.Skip(100);
//   const Philox::Block four_numbers = generator.Next();
class Philox {
 public:
  static constexpr int kBlockSize = 4;
  struct Block {
    uint32_t words[kBlockSize];
    TESSERA_DEVICE_FUNCTION uint32_t operator[](int i) const { return words[i]; }
    friend bool operator==(const Block&, const Block&) = default;
  };

  // Uses two seeds as TensorFlow does: the first one is the key, and the second one is the upper
  // half of the counter.
  TESSERA_DEVICE_FUNCTION explicit Philox(uint64_t seed, uint64_t seed2 = 0)
      : Philox(seed, 0, seed2) {}
  TESSERA_DEVICE_FUNCTION Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high)
      : key_(key), low_(counter_low), high_(counter_high) {}

  TESSERA_DEVICE_FUNCTION uint64_t key() const { return key_; }
  TESSERA_DEVICE_FUNCTION uint64_t counter_low() const { return low_; }
  TESSERA_DEVICE_FUNCTION uint64_t counter_high() const { return high_; }

  // The parts of Next(), for loops over several blocks: the words of a counter go through kRounds
  // rounds, each with keys of its own.
  static constexpr int kRounds = 10;
  struct RoundKeys {
    TESSERA_DEVICE_FUNCTION explicit RoundKeys(uint64_t key)
        : k0(static_cast<uint32_t>(key)), k1(static_cast<uint32_t>(key >> 32)) {}
    TESSERA_DEVICE_FUNCTION void Next() {
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    uint32_t k0, k1;
  };
  TESSERA_DEVICE_FUNCTION static void Round(RoundKeys keys, uint32_t* c0, uint32_t* c1,
                                            uint32_t* c2, uint32_t* c3) {
    const uint64_t a = uint64_t{0xD2511F53} * *c0, b = uint64_t{0xCD9E8D57} * *c2;
    *c0 = static_cast<uint32_t>(b >> 32) ^ *c1 ^ keys.k0;
    *c1 = static_cast<uint32_t>(b);
    *c2 = static_cast<uint32_t>(a >> 32) ^ *c3 ^ keys.k1;
    *c3 = static_cast<uint32_t>(a);
  }

  // Skips `blocks` blocks.
  TESSERA_DEVICE_FUNCTION void Skip(uint64_t blocks) {
    low_ += blocks;
    if (low_ < blocks) ++high_;
  }

  TESSERA_DEVICE_FUNCTION Block Next() {
    Block c = {static_cast<uint32_t>(low_), static_cast<uint32_t>(low_ >> 32),
               static_cast<uint32_t>(high_), static_cast<uint32_t>(high_ >> 32)};
    RoundKeys keys(key_);
    for (int round = 0; round < kRounds; ++round, keys.Next()) {
      Round(keys, &c.words[0], &c.words[1], &c.words[2], &c.words[3]);
    }
    Skip(1);
    return c;
  }

 private:
  uint64_t key_;
  uint64_t low_, high_;  // the counter
};

// The single numbers of a generator, in order.
class PhiloxStream {
 public:
  TESSERA_DEVICE_FUNCTION explicit PhiloxStream(const Philox& generator) : generator_(generator) {}

  TESSERA_DEVICE_FUNCTION uint32_t Next() {
    if (used_ == Philox::kBlockSize) {
      block_ = generator_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  Philox generator_;
  Philox::Block block_;
  int used_ = Philox::kBlockSize;
};

}  // namespace tessera

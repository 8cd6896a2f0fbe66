// Single random numbers of several kinds from one stream of bits, in TensorFlow's order.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/philox.h"
#include "runtime/kernels/primitives/random_distributions.h"

namespace tessera {

// Used by one thread at a time.
class SimpleRandom {
 public:
  explicit SimpleRandom(const Philox& generator) : bits_(generator) {}

  uint32_t Bits32() { return bits_.Next(); }
  uint64_t Bits64() {
    const uint64_t low = bits_.Next();
    return low | uint64_t{bits_.Next()} << 32;
  }
  float Float() { return UnitFloat(bits_.Next()); }  // in [0, 1)
  double Double() {                                  // in [0, 1)
    const uint32_t high = bits_.Next();
    return UnitDouble(high, bits_.Next());
  }
  // Every number in [0, n) with the same probability; 0 for n == 0.
  uint32_t Below32(uint32_t n) {
    return Below(n, [this] { return Bits32(); });
  }
  uint64_t Below64(uint64_t n) {
    return Below(n, [this] { return Bits64(); });
  }

 private:
  // Draws again where the remainder would favour small numbers.
  template <typename U, typename Draw>
  static U Below(U n, Draw draw) {
    if ((n & (n - 1)) == 0) return n == 0 ? draw() * n : draw() & (n - 1);
    const U rejected = static_cast<U>(~U{0} % n) + 1;
    U x;
    do x = draw();
    while (x < rejected);
    return x % n;
  }

  PhiloxStream bits_;
};

}  // namespace tessera

// The values of numbers of 8 bits, for tests: GPUs alone read them otherwise.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera::cuda {

// Returns the value of a number with 4 bits of exponent and 3 of mantissa, as E4m3OfFloat() makes
// them.
inline float FloatOfE4m3(uint8_t bits) {
  constexpr int kBias = 7, kMantissaBits = 3;
  const int exponent = bits >> kMantissaBits & 15, mantissa = bits & 7;
  const float sign = (bits & 0x80) != 0 ? -1.0f : 1.0f;
  if ((bits & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  if (exponent == 0) {
    return sign * std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissaBits);
  }
  return sign * std::ldexp(static_cast<float>(mantissa + 8), exponent - kBias - kMantissaBits);
}

}  // namespace tessera::cuda

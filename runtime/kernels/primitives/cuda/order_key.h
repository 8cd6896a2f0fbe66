// Numbers as keys that are sorted.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/primitives/cuda/sorted_pairs.h"
#include "runtime/kernels/primitives/math/device_std.h"

namespace tessera::cuda {

// A number whose order among unsigned integers is that of `x`; NaN comes last either way.
template <typename A>
TESSERA_DEVICE_FUNCTION uint64_t OrderKey(A x, bool greatest_first) {
  uint64_t key;
  if constexpr (std::is_floating_point_v<A>) {
    if (x != x) return kLastKey;
    const double wide = x == A{0} ? 0.0 : static_cast<double>(x);  // -0 equals 0
    const uint64_t bits = device_std::bit_cast<uint64_t>(wide);
    key = (bits >> 63) != 0 ? ~bits : bits | uint64_t{1} << 63;
  } else if constexpr (std::is_signed_v<A>) {
    key = static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
  } else {
    key = x;
  }
  return greatest_first ? ~key : key;
}

}  // namespace tessera::cuda

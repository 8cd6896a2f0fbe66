// Conversion between numbers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/primitives/math/device_std.h"

namespace tessera::functors {

// Converts a real number or bool, as the processor does: what does not fit in a signed integer of
// 32 or 64 bits gives the least one, and smaller integers take the low bits of that.
template <typename To>
struct Convert {
  template <typename From>
  TESSERA_DEVICE_FUNCTION To operator()(From x) const {
    if constexpr (std::is_same_v<To, bool>) {
      return x != From{0};
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      if constexpr (sizeof(To) < 4) return static_cast<To>(static_cast<int32_t>(x));
      if constexpr (std::is_same_v<To, uint32_t>) return static_cast<To>(static_cast<int64_t>(x));
      return static_cast<To>(x);
    } else {
      return static_cast<To>(x);
    }
  }
};

}  // namespace tessera::functors

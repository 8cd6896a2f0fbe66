// Conversions of any number to an element, as x86 converts it and so TensorFlow.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace tessera {

// Converts a float or a double. C++ gives no meaning to one that an integer of T does not hold.
// Here it becomes the lowest int32 or int64, and a narrower integer gets the low bits of the int32.
// Numbers of other types are converted as by static_cast.
template <typename T, typename F>
constexpr T ConvertAsX86(F x) {
  if constexpr (std::is_integral_v<T> && std::is_floating_point_v<F>) {
    using Wide = std::conditional_t<sizeof(T) == sizeof(int64_t), int64_t, int32_t>;
    constexpr F kEnd = -static_cast<F>(std::numeric_limits<Wide>::min());
    return static_cast<T>(x >= -kEnd && x < kEnd ? static_cast<Wide>(x)
                                                 : std::numeric_limits<Wide>::min());
  } else {
    return static_cast<T>(x);
  }
}

}  // namespace tessera

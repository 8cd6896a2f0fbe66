// Arithmetic of elements of any dtype, in which integers wrap around as TensorFlow's do.
#pragma once

#include <type_traits>

namespace tessera {

// The type in which sums and products of T have a value for all operands: signed integers of 32 and
// 64 bits overflow, and narrower ones are computed in int.
template <typename T>
using WrappingType =
    typename std::conditional_t<std::is_integral_v<T> && (sizeof(T) >= sizeof(int)),
                                std::make_unsigned<T>, std::type_identity<T>>::type;

template <typename T>
constexpr T WrappingAdd(T a, T b) {
  return static_cast<T>(static_cast<WrappingType<T>>(a) + static_cast<WrappingType<T>>(b));
}

}  // namespace tessera

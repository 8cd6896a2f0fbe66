// Arithmetic of elements of any dtype. Integers wrap around, as in TensorFlow.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tessera {

// A type in which sums and products of T are defined for all operands. Signed integers of 32 and 64
// bits would overflow. Narrower ones would be computed in int, which does not hold all products of
// uint16.
template <typename T>
using WrappingType = typename std::conditional_t<
    std::is_integral_v<T> && (sizeof(T) >= sizeof(int)), std::make_unsigned<T>,
    std::type_identity<std::conditional_t<std::is_same_v<T, uint16_t>, uint32_t, T>>>::type;

template <typename T>
constexpr T WrappingAdd(T a, T b) {
  return static_cast<T>(static_cast<WrappingType<T>>(a) + static_cast<WrappingType<T>>(b));
}

template <typename T>
constexpr T WrappingMultiply(T a, T b) {
  return static_cast<T>(static_cast<WrappingType<T>>(a) * static_cast<WrappingType<T>>(b));
}

}  // namespace tessera

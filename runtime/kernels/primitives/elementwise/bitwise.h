// Operations on the bits of integers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/kernels/primitives/elementwise/declaration.h"

namespace tessera::functors {

struct BitwiseAnd {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return x & y;
  }
};
struct BitwiseOr {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return x | y;
  }
};
struct BitwiseXor {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return x ^ y;
  }
};
struct Invert {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x) const {
    return ~x;
  }
};
struct PopulationCount {
  template <typename T>
  TESSERA_DEVICE_FUNCTION uint8_t operator()(T x) const {
    return static_cast<uint8_t>(device_std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
  }
};

// A distance out of range counts as the nearest one in range.
template <typename T>
TESSERA_DEVICE_FUNCTION int ShiftDistance(T y) {
  constexpr int kLast = static_cast<int>(sizeof(T)) * 8 - 1;
  if (y < 0) return 0;
  return y > kLast ? kLast : static_cast<int>(y);
}

struct LeftShift {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << ShiftDistance(y));
  }
};
// Keeps the sign.
struct RightShift {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T operator()(T x, T y) const {
    return x >> ShiftDistance(y);
  }
};

// Integers whose order is the total order of floats in IEEE 754: -NaN, -inf, ..., -0, 0, ..., NaN.
struct TotalOrderKey {
  TESSERA_DEVICE_FUNCTION int32_t operator()(float x) const { return Key<int32_t>(x); }
  TESSERA_DEVICE_FUNCTION int64_t operator()(double x) const { return Key<int64_t>(x); }

 private:
  // The bits of a negative float are those of its magnitude, so all but the sign are turned over.
  template <typename Bits, typename T>
  TESSERA_DEVICE_FUNCTION static Bits Key(T x) {
    const Bits bits = device_std::bit_cast<Bits>(x);
    return bits ^ (bits >> (sizeof(Bits) * 8 - 1) & device_std::numeric_limits<Bits>::max());
  }
};

inline constexpr std::tuple kBitwiseOps{
    Binary<BitwiseAnd, kInteger>("BitwiseAnd"),
    Binary<BitwiseOr, kInteger>("BitwiseOr"),
    Binary<BitwiseXor, kInteger>("BitwiseXor"),
    Binary<LeftShift, kInteger>("LeftShift"),
    Binary<RightShift, kInteger>("RightShift"),
    Unary<Invert, kInteger>("Invert"),
    Unary<PopulationCount, kInteger>("PopulationCount"),
    Unary<TotalOrderKey, DTypes(DType::kFloat, DType::kDouble)>("_OrderKey"),
};

}  // namespace tessera::functors

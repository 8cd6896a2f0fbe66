// Random numbers from blocks of bits, bit for bit as TensorFlow derives them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "Eigen/Core"
#include "runtime/kernels/primitives/cpu/philox.h"

namespace tessera {

// Numbers in [0, 1), from mantissas filled with random bits.
inline float UnitFloat(uint32_t x) {
  return std::bit_cast<float>((x & 0x7fffffu) | 0x3f800000u) - 1.0f;
}
inline double UnitDouble(uint32_t x0, uint32_t x1) {
  const uint64_t mantissa = (uint64_t{x0 & 0xfffffu} << 32) | x1;
  return std::bit_cast<double>(mantissa | (uint64_t{1023} << 52)) - 1.0;
}
inline Eigen::half UnitHalf(uint32_t x) {
  const uint16_t bits = static_cast<uint16_t>((x & 0x3ffu) | (15u << 10));
  return Eigen::half(static_cast<float>(std::bit_cast<Eigen::half>(bits)) - 1.0f);
}
inline Eigen::bfloat16 UnitBfloat16(uint32_t x) {
  const uint32_t bits = ((x & 0x7fu) | (127u << 7)) << 16;
  return Eigen::bfloat16(std::bit_cast<float>(bits) - 1.0f);
}

// Two normal numbers of two uniform ones, by Box and Muller's method.
inline std::pair<float, float> NormalFloats(uint32_t x0, uint32_t x1) {
  const float u = std::max(UnitFloat(x0), 1.0e-7f);
  const float angle = 2.0f * static_cast<float>(M_PI) * UnitFloat(x1);
  const float radius = std::sqrt(-2.0f * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}
inline std::pair<double, double> NormalDoubles(uint32_t x0, uint32_t x1, uint32_t x2, uint32_t x3) {
  const double u = std::max(UnitDouble(x0, x1), 1.0e-7);
  const double angle = 2 * M_PI * UnitDouble(x2, x3);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

// Numbers of type T that a block gives.
template <typename T>
inline constexpr int kPerBlock = sizeof(T) == 8 ? 2 : 4;

// Distributions: operator() makes kPerBlock<T> numbers of one block.

template <typename T>
struct UniformReal {
  void operator()(const Philox::Block& x, T* out) const {
    if constexpr (std::is_same_v<T, double>) {
      out[0] = UnitDouble(x[0], x[1]);
      out[1] = UnitDouble(x[2], x[3]);
    } else {
      for (int i = 0; i < 4; ++i) {
        if constexpr (std::is_same_v<T, float>) out[i] = UnitFloat(x[i]);
        if constexpr (std::is_same_v<T, Eigen::half>) out[i] = UnitHalf(x[i]);
        if constexpr (std::is_same_v<T, Eigen::bfloat16>) out[i] = UnitBfloat16(x[i]);
      }
    }
  }
};

template <typename T>
struct Normal {
  void operator()(const Philox::Block& x, T* out) const {
    if constexpr (std::is_same_v<T, double>) {
      std::tie(out[0], out[1]) = NormalDoubles(x[0], x[1], x[2], x[3]);
    } else {
      for (int i = 0; i < 4; i += 2) {
        const auto [a, b] = NormalFloats(x[i], x[i + 1]);
        out[i] = static_cast<T>(a);
        out[i + 1] = static_cast<T>(b);
      }
    }
  }
};

// All integers of T.
template <typename T>
struct FullInt {
  void operator()(const Philox::Block& x, T* out) const {
    if constexpr (sizeof(T) == 8) {
      out[0] = static_cast<T>(x[0] | (uint64_t{x[1]} << 32));
      out[1] = static_cast<T>(x[2] | (uint64_t{x[3]} << 32));
    } else {
      for (int i = 0; i < 4; ++i) out[i] = static_cast<T>(x[i]);
    }
  }
};

// Integers in [low, low + range).
template <typename T>
struct UniformInt {
  using U = std::make_unsigned_t<T>;
  T low;
  U range;
  void operator()(const Philox::Block& x, T* out) const {
    U bits[kPerBlock<T>];
    FullInt<U>()(x, bits);
    for (int i = 0; i < kPerBlock<T>; ++i) {
      out[i] = static_cast<T>(static_cast<U>(low) + bits[i] % range);
    }
  }
};

// Normal numbers of magnitude below 2: others are drawn again, from the bits that follow.
template <typename T>
struct TruncatedNormal {
  // Blocks set aside for the kPerBlock<T> numbers of one call.
  static constexpr uint64_t kReserved = 64 * kPerBlock<T>;
  void operator()(const Philox& generator, T* out) const {
    PhiloxStream bits(generator);
    for (int i = 0; i < kPerBlock<T>;) {
      auto keep = [&](auto value) {
        if (std::abs(value) < 2 && i < kPerBlock<T>) out[i++] = static_cast<T>(value);
      };
      const uint32_t x0 = bits.Next(), x1 = bits.Next();
      if constexpr (std::is_same_v<T, double>) {
        const uint32_t x2 = bits.Next(), x3 = bits.Next();
        const auto [a, b] = NormalDoubles(x0, x1, x2, x3);
        keep(a), keep(b);
      } else {
        const auto [a, b] = NormalFloats(x0, x1);
        keep(a), keep(b);
      }
    }
  }
};

}  // namespace tessera

// Random numbers from blocks of bits, as TensorFlow derives them. All devices share this
// definition: uniform numbers and integers have the same bits everywhere, and normal numbers differ
// in the last bits only if the log, sin and cos of devices do.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "Eigen/Core"
#include "runtime/kernels/primitives/device_function.h"
#include "runtime/kernels/primitives/philox.h"

namespace tessera {

// Does what std::bit_cast does, which nvcc treats as a function of the host.
template <typename To, typename From>
TESSERA_DEVICE_FUNCTION inline To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// Return numbers in [0, 1), whose mantissas are filled with random bits.
TESSERA_DEVICE_FUNCTION inline float UnitFloat(uint32_t x) {
  return BitCast<float>((x & 0x7fffffu) | 0x3f800000u) - 1.0f;
}
TESSERA_DEVICE_FUNCTION inline double UnitDouble(uint32_t x0, uint32_t x1) {
  const uint64_t mantissa = (uint64_t{x0 & 0xfffffu} << 32) | x1;
  return BitCast<double>(mantissa | (uint64_t{1023} << 52)) - 1.0;
}
// Return numbers in [0, 1) with the mantissas of half and of bfloat16, which hold these numbers
// exactly.
TESSERA_DEVICE_FUNCTION inline float UnitHalf(uint32_t x) {
  return static_cast<float>(x & 0x3ffu) * (1.0f / 1024);
}
TESSERA_DEVICE_FUNCTION inline float UnitBfloat16(uint32_t x) {
  return static_cast<float>(x & 0x7fu) * (1.0f / 128);
}

// Computes two normal numbers from two uniform ones by the Box-Muller transform.
template <typename T>
struct NormalPair {
  TESSERA_DEVICE_FUNCTION NormalPair(T u0, T u1) {
    const T u = u0 < T(1.0e-7) ? T(1.0e-7) : u0;
    const T angle = 2 * static_cast<T>(M_PI) * u1;
    const T radius = std::sqrt(T(-2) * std::log(u));
    sine = std::sin(angle) * radius;
    cosine = std::cos(angle) * radius;
  }
  T sine, cosine;
};
TESSERA_DEVICE_FUNCTION inline NormalPair<float> NormalFloats(uint32_t x0, uint32_t x1) {
  return {UnitFloat(x0), UnitFloat(x1)};
}
TESSERA_DEVICE_FUNCTION inline NormalPair<double> NormalDoubles(uint32_t x0, uint32_t x1,
                                                                uint32_t x2, uint32_t x3) {
  return {UnitDouble(x0, x1), UnitDouble(x2, x3)};
}

// The count of numbers of type T that one block gives.
template <typename T>
inline constexpr int kPerBlock = sizeof(T) == 8 ? 2 : 4;

// The following structs are distributions. operator() makes kPerBlock<T> numbers from one block.

template <typename T>
struct UniformReal {
  TESSERA_DEVICE_FUNCTION void operator()(const Philox::Block& x, T* out) const {
    if constexpr (std::is_same_v<T, double>) {
      out[0] = UnitDouble(x[0], x[1]);
      out[1] = UnitDouble(x[2], x[3]);
    } else {
      for (int i = 0; i < 4; ++i) {
        if constexpr (std::is_same_v<T, float>) out[i] = UnitFloat(x[i]);
        if constexpr (std::is_same_v<T, Eigen::half>) out[i] = static_cast<T>(UnitHalf(x[i]));
        if constexpr (std::is_same_v<T, Eigen::bfloat16>)
          out[i] = static_cast<T>(UnitBfloat16(x[i]));
      }
    }
  }
};

template <typename T>
struct Normal {
  TESSERA_DEVICE_FUNCTION void operator()(const Philox::Block& x, T* out) const {
    if constexpr (std::is_same_v<T, double>) {
      const NormalPair<double> pair = NormalDoubles(x[0], x[1], x[2], x[3]);
      out[0] = pair.sine;
      out[1] = pair.cosine;
    } else {
      for (int i = 0; i < 4; i += 2) {
        const NormalPair<float> pair = NormalFloats(x[i], x[i + 1]);
        out[i] = static_cast<T>(pair.sine);
        out[i + 1] = static_cast<T>(pair.cosine);
      }
    }
  }
};

// Integers from the whole range of T.
template <typename T>
struct FullInt {
  TESSERA_DEVICE_FUNCTION void operator()(const Philox::Block& x, T* out) const {
    if constexpr (sizeof(T) == 8) {
      out[0] = static_cast<T>(x[0] | (uint64_t{x[1]} << 32));
      out[1] = static_cast<T>(x[2] | (uint64_t{x[3]} << 32));
    } else {
      for (int i = 0; i < 4; ++i) out[i] = static_cast<T>(x[i]);
    }
  }
};

// Integers in [low, low + range), modulo the size of T.
template <typename T>
struct UniformInt {
  using U = std::make_unsigned_t<T>;
  T low;
  U range;
  TESSERA_DEVICE_FUNCTION void operator()(const Philox::Block& x, T* out) const {
    U bits[kPerBlock<T>];
    FullInt<U>()(x, bits);
    for (int i = 0; i < kPerBlock<T>; ++i) {
      out[i] = static_cast<T>(static_cast<U>(low) + bits[i] % range);
    }
  }
};

// Normal numbers of magnitude below 2. Larger ones are drawn again, from the bits that follow.
template <typename T>
struct TruncatedNormal {
  // The number of blocks that are reserved for the kPerBlock<T> numbers of one call.
  static constexpr uint64_t kReserved = 64 * kPerBlock<T>;
  TESSERA_DEVICE_FUNCTION void operator()(const Philox& generator, T* out) const {
    PhiloxStream bits(generator);
    for (int i = 0; i < kPerBlock<T>;) {
      auto keep = [&](auto value) {
        if (std::abs(value) < 2 && i < kPerBlock<T>) out[i++] = static_cast<T>(value);
      };
      const uint32_t x0 = bits.Next(), x1 = bits.Next();
      if constexpr (std::is_same_v<T, double>) {
        const uint32_t x2 = bits.Next(), x3 = bits.Next();
        const NormalPair<double> pair = NormalDoubles(x0, x1, x2, x3);
        keep(pair.sine), keep(pair.cosine);
      } else {
        const NormalPair<float> pair = NormalFloats(x0, x1);
        keep(pair.sine), keep(pair.cosine);
      }
    }
  }
};

}  // namespace tessera

// Numbers of 8 bits: e4m3, with 4 bits of exponent, 3 of mantissa, and no infinities.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cuda/product_library.h"
#include "runtime/kernels/primitives/device_function.h"
#include "runtime/kernels/primitives/math/device_std.h"

namespace tessera::cuda {

inline constexpr float kGreatestE4m3 = 448;
inline constexpr uint8_t kE4m3NaN = 0x7f;

// True if a number that is not negative is finite.
TESSERA_DEVICE_FUNCTION inline bool IsFiniteSize(float size) {
  return size < device_std::bit_cast<float>(0x7f800000u);
}

// Rounds to nearest, ties to even. Greater finite values become the greatest one; infinities and
// NaNs become NaN.
TESSERA_DEVICE_FUNCTION inline uint8_t E4m3OfFloat(float value) {
  constexpr int kBias = 7, kLeastExponent = -6;
  const uint32_t bits = device_std::bit_cast<uint32_t>(value);
  const uint8_t sign = static_cast<uint8_t>(bits >> 24 & 0x80);
  float size = device_std::bit_cast<float>(bits & 0x7fffffffu);
  if (!IsFiniteSize(size)) return sign | kE4m3NaN;
  if (size > kGreatestE4m3) size = kGreatestE4m3;
  int exponent = static_cast<int>(bits >> 23 & 0xff) - 127;
  if (size == kGreatestE4m3) exponent = 8;
  if (exponent < kLeastExponent) exponent = kLeastExponent;
  // The step between numbers with this exponent is 2^(exponent - 3). Its reciprocal is a float.
  const float steps =
      size * device_std::bit_cast<float>(static_cast<uint32_t>(130 - exponent) << 23);
  // Adding 2^23 leaves no bits behind the point.
  constexpr float kInteger = 8388608.0f;
  const int count = static_cast<int>((steps + kInteger) - kInteger);
  // A count of 16 carries into the exponent; one below 8 has none.
  return sign | static_cast<uint8_t>((exponent + kBias - 1) * 8 + count);
}

// The factor of a tensor whose greatest finite size is `greatest`: elements are the 8-bit numbers
// times the factor.
TESSERA_DEVICE_FUNCTION inline float E4m3Scale(float greatest) {
  return greatest > 0 ? greatest / kGreatestE4m3 : 1.0f;
}

// Brings constant weights, which lie in host memory, into rows of `k` elements, one row for each
// column of a product: transposed, unless `transpose_b` says that they are. None for dtypes and
// sizes that are not multiplied in 8 bits: k and the number of columns are multiples of 16.
absl::StatusOr<std::optional<E4m3Matrix>> QuantiseWeights(const Tensor& weights, bool transpose_b);

// Measures the scale of `values`, which are of float, half or bfloat16, and rounds them.
absl::Status RunQuantise(KernelContext& ctx, const Tensor& values, E4m3Matrix* result);

}  // namespace tessera::cuda

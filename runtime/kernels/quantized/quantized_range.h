// Quantised numbers of a range: the lowest stands for its minimum, the highest for its maximum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/kernels/primitives/wrapping.h"

namespace tessera {

// T is the integer that stores the numbers. Rounding agrees with TensorFlow's quantised kernels.
template <typename T>
struct QuantizedRange {
  float min, max;

  static constexpr int64_t kLowest = std::numeric_limits<T>::lowest();
  static constexpr int64_t kHighest = std::numeric_limits<T>::max();
  static constexpr double kSteps = static_cast<double>(kHighest - kLowest) + 1;

  // Between neighbouring numbers, by way of all gaps.
  float OneLevel() const {
    return (max - min) / static_cast<float>(static_cast<double>(kHighest - kLowest));
  }

  // The number for `x`, which may lie outside of T.
  int64_t Unclamped(float x) const {
    if (min == max) return kLowest;
    const double scale = kSteps / ((max - min) * (kSteps / (kSteps - 1)));
    // A number that no int64 holds becomes the least one, as processors convert it.
    const auto level = static_cast<int64_t>(std::round(x * scale) - std::round(min * scale));
    return WrappingAdd(level, kLowest);
  }
  T Quantize(float x) const {
    return static_cast<T>(std::clamp<int64_t>(Unclamped(x), kLowest, kHighest));
  }

  float Dequantize(T q) const {
    if (min == max) return min;
    const double scale = (max - min) * (kSteps / (kSteps - 1)) / kSteps;
    const float narrow = static_cast<float>(scale);
    const double low = static_cast<double>(std::round(min / narrow) * narrow);
    return static_cast<float>(low +
                              (static_cast<double>(q) - static_cast<double>(kLowest)) * scale);
  }
};

// The range of the product of two quantised numbers as one of int32.
template <typename A, typename B>
QuantizedRange<int32_t> ProductRange(const QuantizedRange<A>& a, const QuantizedRange<B>& b) {
  const float level = a.OneLevel() * b.OneLevel();
  return {level * static_cast<float>(std::numeric_limits<int32_t>::lowest()),
          level * static_cast<float>(std::numeric_limits<int32_t>::max())};
}

}  // namespace tessera

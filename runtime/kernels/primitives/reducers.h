// The reductions as functors on single elements, for every device.
//
// Add() and Merge() also take GCC's vectors of elements, except for complex numbers.
//
//   struct Sum {
//     template <typename T> static T Neutral();                      // the accumulator of nothing
//     template <typename T> T Add(T acc, T x) const;                 // with one more element
//     template <typename T> T Merge(T acc, T other) const;           // two accumulators in one
//     template <typename T> T Result(T acc, int64_t count) const;    // of `count` elements
//   };
//
// Max and Min also have AddOrdered(), which does what Add() does if no number is NaN.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/kernels/primitives/math/device_std.h"
#include "runtime/kernels/primitives/wrapping.h"

namespace tessera::reduce {

struct Sum {
  template <typename T>
  TESSERA_DEVICE_FUNCTION static T Neutral() {
    return T{0};
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Add(T acc, T x) const {
    return acc + x;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Merge(T acc, T other) const {
    return acc + other;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Result(T acc, int64_t) const {
    return acc;
  }
};

struct Mean : Sum {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Result(T acc, int64_t count) const {
    if constexpr (std::is_integral_v<T>) {
      // The division is made in a wide type, because a narrow integer may not hold the count.
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return count == 0 ? acc : static_cast<T>(static_cast<Wide>(acc) / static_cast<Wide>(count));
    } else {
      return acc / static_cast<T>(count);
    }
  }
  // Without elements, the mean of complex numbers is 0, as in TensorFlow.
  template <typename T>
  TESSERA_DEVICE_FUNCTION Complex<T> Result(Complex<T> acc, int64_t count) const {
    return count == 0 ? acc : acc / static_cast<Complex<T>>(static_cast<T>(count));
  }
};

// The least and the greatest value of T, including infinity. They are variables because nvcc takes
// the functions of std::numeric_limits for functions of the host.
template <typename T>
inline constexpr T kGreatest = std::numeric_limits<T>::has_infinity
                                   ? std::numeric_limits<T>::infinity()
                                   : std::numeric_limits<T>::max();
template <typename T>
inline constexpr T kLeast = std::numeric_limits<T>::has_infinity ? -kGreatest<T>
                                                                 : std::numeric_limits<T>::lowest();

struct EuclideanNorm : Sum {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Add(T acc, T x) const {
    using Wrapping = WrappingType<T>;
    return static_cast<T>(static_cast<Wrapping>(acc) +
                          static_cast<Wrapping>(x) * static_cast<Wrapping>(x));
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION Complex<T> Add(Complex<T> acc, Complex<T> x) const {
    return acc + device_std::norm(x);
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Result(T acc, int64_t) const {
    if constexpr (std::is_integral_v<T>) {
      // A sum of squares that wrapped around has no root. Processors convert NaN to these integers.
      if (acc < 0) return sizeof(T) < sizeof(int32_t) ? T{0} : kLeast<T>;
      return static_cast<T>(std::sqrt(static_cast<double>(acc)));
    } else {
      return device_std::sqrt(acc);
    }
  }
};

struct HalfSumOfSquares : EuclideanNorm {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Result(T acc, int64_t) const {
    return acc / 2;
  }
};

struct Prod {
  template <typename T>
  TESSERA_DEVICE_FUNCTION static T Neutral() {
    return T{1};
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Add(T acc, T x) const {
    return acc * x;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Merge(T acc, T other) const {
    return acc * other;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Result(T acc, int64_t) const {
    return acc;
  }
};

// The maximum or the minimum. It is NaN if any number is NaN, and the least or the greatest value
// of the type if there are no numbers.
template <bool kIsMax>
struct Extreme {
  template <typename T>
  TESSERA_DEVICE_FUNCTION static T Neutral() {
    return kIsMax ? kLeast<T> : kGreatest<T>;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Add(T acc, T x) const {
    const T chosen = AddOrdered(acc, x);  // this is x if x is NaN
    if constexpr (!std::is_integral_v<T>) return acc != acc ? acc : chosen;
    return chosen;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T AddOrdered(T acc, T x) const {
    if constexpr (kIsMax) return acc > x ? acc : x;
    return acc < x ? acc : x;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Merge(T acc, T other) const {
    return Add(acc, other);
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Result(T acc, int64_t) const {
    return acc;
  }
};
using Max = Extreme<true>;
using Min = Extreme<false>;

// The logarithm of the sum of exp(x), computed without overflow; minus infinity without elements. A
// NaN counts as the total before it, as in TensorFlow.
struct LogSumExp {
  template <typename T>
  TESSERA_DEVICE_FUNCTION static T Neutral() {
    return kLeast<T>;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Add(T acc, T x) const {
    const T high = acc < x ? x : acc, low = x < acc ? x : acc;
    if (!(low > Neutral<T>())) return high;
    return high + std::log1p(std::exp(low - high));
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Merge(T acc, T other) const {
    return Add(acc, other);
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Result(T acc, int64_t) const {
    return acc;
  }
};

struct All : Prod {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Add(T acc, T x) const {
    return acc & x;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Merge(T acc, T other) const {
    return acc & other;
  }
};
struct Any : Sum {
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Add(T acc, T x) const {
    return acc | x;
  }
  template <typename T>
  TESSERA_DEVICE_FUNCTION T Merge(T acc, T other) const {
    return acc | other;
  }
};

}  // namespace tessera::reduce

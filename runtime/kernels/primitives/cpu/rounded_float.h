// Numbers of half or bfloat16 that are held as floats and rounded after each operation, as
// TensorFlow's CPU kernels compute with them.
//
//   using Half = Rounded<Eigen::half>;
//   const Half y = Half::FromStored(stored);  // `stored` is a half already
//   const Half slope = Half{1} - y * y;       // two roundings
//
// All functions are free of branches, so that loops vectorise.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "Eigen/Core"
#include "runtime/kernels/primitives/math/elementary_functions.h"

namespace tessera {

// Returns the nearest half, ties to even, as a float. NaN stays NaN.
inline float RoundToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffff;
  // Thirteen bits of the significand are cut off; the carry may run into the exponent.
  const uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1)) & ~uint32_t{0x1fff};
  const uint32_t beyond = magnitude > 0x7f800000 ? magnitude : 0x7f800000;  // NaN or infinity
  const uint32_t large = normal >= 0x47800000 ? beyond : normal;            // 2^16 overflows
  // Floats between 0.5 and 1 have the spacing of denormal halves, so that this addition rounds to
  // one.
  const uint32_t small = std::bit_cast<uint32_t>((std::bit_cast<float>(magnitude) + 0.5f) - 0.5f);
  const uint32_t rounded = magnitude < 0x38800000 ? small : large;  // 2^-14 is the least normal one
  return std::bit_cast<float>(rounded | (bits & 0x80000000));
}

// Returns the nearest bfloat16, ties to even, as a float. NaN stays NaN.
inline float RoundToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
  return std::bit_cast<float>((bits & 0x7fffffff) > 0x7f800000 ? bits : rounded);
}

// A number of type Storage, which is Eigen::half or Eigen::bfloat16. It is held in a float.
template <typename Storage>
class Rounded {
 public:
  static constexpr bool kIsHalf = std::is_same_v<Storage, Eigen::half>;
  static_assert(kIsHalf || std::is_same_v<Storage, Eigen::bfloat16>);

  Rounded() = default;
  Rounded(float value)  // NOLINT(google-explicit-constructor): constants are written as numbers
      : value_(kIsHalf ? RoundToHalf(value) : RoundToBfloat16(value)) {}
  // Requires a `value` that Storage holds exactly.
  static Rounded FromStored(float value) {
    Rounded number;
    number.value_ = value;
    return number;
  }

  float value() const { return value_; }

  friend Rounded operator-(Rounded x) { return FromStored(-x.value_); }
  friend Rounded operator+(Rounded x, Rounded y) { return x.value_ + y.value_; }
  friend Rounded operator-(Rounded x, Rounded y) { return x.value_ - y.value_; }
  friend Rounded operator*(Rounded x, Rounded y) { return x.value_ * y.value_; }
  friend Rounded operator/(Rounded x, Rounded y) { return x.value_ / y.value_; }
  Rounded& operator+=(Rounded x) { return *this = *this + x; }
  Rounded& operator-=(Rounded x) { return *this = *this - x; }
  friend bool operator==(Rounded x, Rounded y) { return x.value_ == y.value_; }
  friend bool operator<(Rounded x, Rounded y) { return x.value_ < y.value_; }
  friend bool operator>(Rounded x, Rounded y) { return x.value_ > y.value_; }

  friend Rounded Absolute(Rounded x) { return FromStored(std::fabs(x.value_)); }
  friend Rounded Floor(Rounded x) { return FromStored(std::floor(x.value_)); }
  friend Rounded Truncate(Rounded x) { return FromStored(std::trunc(x.value_)); }
  friend Rounded Sqrt(Rounded x) { return std::sqrt(x.value_); }
  friend Rounded Pow(Rounded x, Rounded y) { return std::pow(x.value_, y.value_); }
  friend Rounded Exp(Rounded x) { return math::Exp(x.value_); }
  friend Rounded Log(Rounded x) { return math::Log(x.value_); }
  friend Rounded Log1p(Rounded x) { return math::Log1p(x.value_); }

 private:
  float value_;
};

}  // namespace tessera

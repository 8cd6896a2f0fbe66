// Elementary functions for inner loops. Those of float are free of branches and calls, so that a
// loop over them vectorises; each is within 6 units in the last place of the exact value, for every
// argument, with the usual infinities and NaNs (denormal results may be 0). Double and complex
// numbers go to the C++ library.
//
// Polynomials are minimax fits; arguments are reduced as each function says.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/kernels/primitives/math/device_std.h"

// Functions that are compiled for another instruction set go by another name, or the linker would
// take one of both for all: such a file defines this before.
#ifndef TESSERA_VECTOR_ABI
#define TESSERA_VECTOR_ABI portable
#endif

namespace tessera::math {
inline namespace TESSERA_VECTOR_ABI {

inline constexpr float kInf = device_std::numeric_limits<float>::infinity();
inline constexpr float kNaN = device_std::numeric_limits<float>::quiet_NaN();

// c0 + c1*x + c2*x^2 + ..., by Horner's scheme.
template <typename T>
TESSERA_DEVICE_FUNCTION T Polynomial(T, T c0) {
  return c0;
}
template <typename T, typename... C>
TESSERA_DEVICE_FUNCTION T Polynomial(T x, T c0, C... rest) {
  return c0 + x * Polynomial(x, rest...);
}

// 2^n for -127 <= n <= 127, but 0 for 2^-127.
TESSERA_DEVICE_FUNCTION inline float PowerOfTwo(int32_t n) {
  return device_std::bit_cast<float>((n + 127) << 23);
}

// Added to a number of some thousands at most it leaves the nearest integer in the low bits, and
// what rounds to that integer once it is subtracted again.
inline constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23

// expm1(x - n ln(2) + tail), whose argument is at most ln(2) / 2 to either side of 0.
TESSERA_DEVICE_FUNCTION inline float Expm1OfRest(float x, float n, float tail) {
  // ln(2) in two parts, the first of few bits.
  const float r = (x - n * 0.693359375f) + (n * 2.12194440e-4f + tail);
  const float q = Polynomial(r, 0.5f, 0.166665189f, 0.041666206f, 0.00836888243f, 0.00139504768f);
  return r + r * r * q;
}

// exp(x - n ln(2) + tail) for such an argument.
TESSERA_DEVICE_FUNCTION inline float ExpOfRest(float x, float n, float tail) {
  return 1.0f + Expm1OfRest(x, n, tail);
}

// exp(x) = 2^n exp(r).
TESSERA_DEVICE_FUNCTION inline float Exp(float x) {
  // Beyond these the result is 0 or infinity anyway; NaN passes through both.
  const float low = x < -104.0f ? -104.0f : x;
  const float clamped = low > 89.0f ? 89.0f : low;
  const float rounded = clamped * 1.44269504f + kRounder;
  // 2^n in two steps, since n leaves the range of exponents at both ends.
  const int32_t n =
      device_std::bit_cast<int32_t>(rounded) - device_std::bit_cast<int32_t>(kRounder);
  const int32_t half = n >> 1;
  return ExpOfRest(clamped, rounded - kRounder, 0.0f) * PowerOfTwo(half) * PowerOfTwo(n - half);
}

// exp(x + tail) for -88.3 <= x <= 0 and a tail that is nothing next to 1: in fewer steps than
// Exp().
TESSERA_DEVICE_FUNCTION inline float ExpOfBounded(float x, float tail) {
  const float rounded = x * 1.44269504f + (kRounder + 127.0f);
  // All but the low bits, those of PowerOfTwo(), are shifted out.
  const float power = device_std::bit_cast<float>(device_std::bit_cast<int32_t>(rounded) << 23);
  return ExpOfRest(x, rounded - (kRounder + 127.0f), tail) * power;
}

// exp(x) for x <= 0, in fewer steps than Exp().
TESSERA_DEVICE_FUNCTION inline float ExpOfNegative(float x) {
  return ExpOfBounded(x < -88.0f ? -88.0f : x, 0.0f);
}

// log(x) = e ln(2) + log(m), m in [sqrt(1/2), sqrt(2)).
TESSERA_DEVICE_FUNCTION inline float Log(float x) {
  const bool denormal = x < device_std::numeric_limits<float>::min();
  const float scaled = denormal ? x * 8388608.0f : x;
  const int32_t bits = device_std::bit_cast<int32_t>(scaled);
  // Adding what lies between 1 and sqrt(1/2) makes the exponent's step fall at sqrt(1/2).
  const int32_t shifted = bits + (0x3f800000 - 0x3f3504f3);
  const float e = static_cast<float>((shifted >> 23) - 127 - (denormal ? 23 : 0));
  const float m = device_std::bit_cast<float>((shifted & 0x007fffff) + 0x3f3504f3);
  const float f = m - 1.0f;
  const float p =
      Polynomial(f, 0.333333104f, -0.249999866f, 0.200022267f, -0.166692495f, 0.142186554f,
                 -0.123843703f, 0.118730163f, -0.117896956f, 0.0691514695f);
  const float f2 = f * f;
  const float tail = f2 * f * p - e * 2.12194440e-4f;
  const float result = (f + (tail - 0.5f * f2)) + e * 0.693359375f;
  const float finite = x < kInf ? result : x;  // infinity and NaN as they are
  return x > 0.0f ? finite : (x == 0.0f ? -kInf : kNaN);
}

// expm1(x): a polynomial about 0, exp(x) - 1 beyond.
TESSERA_DEVICE_FUNCTION inline float Expm1(float x) {
  const float q = Polynomial(x, 0.5f, 0.16666668f, 0.0416653155f, 0.008333073f, 0.00139974568f,
                             0.000199928963f);
  const float near = x + x * x * q;
  return std::fabs(x) < 0.5f ? near : Exp(x) - 1.0f;
}

// expm1(x) = 2^n expm1(r) + (2^n - 1) for x <= 0, in half of the steps of Expm1(). The second sum
// is exact.
TESSERA_DEVICE_FUNCTION inline float Expm1OfNegative(float x) {
  const float clamped = x < -88.0f ? -88.0f : x;  // beyond it the result is -1; NaN passes
  const float rounded = clamped * 1.44269504f + (kRounder + 127.0f);
  const float power = device_std::bit_cast<float>(device_std::bit_cast<int32_t>(rounded) << 23);
  return Expm1OfRest(clamped, rounded - (kRounder + 127.0f), 0.0f) * power + (power - 1.0f);
}

// log1p(x) = log(u) with u = 1 + x rounded, and what the rounding lost.
TESSERA_DEVICE_FUNCTION inline float Log1p(float x) {
  const float u = 1.0f + x;
  const float lost = (x - (u - 1.0f)) / u;
  return Log(u) + (u > 0.0f && u < kInf ? lost : 0.0f);
}

// The lesser of x >= 0 and a positive number, which stands for a NaN, too. Compares integers, which
// takes one instruction of vectors.
TESSERA_DEVICE_FUNCTION inline float Lesser(float x, float y) {
  const int32_t a = device_std::bit_cast<int32_t>(x), b = device_std::bit_cast<int32_t>(y);
  return device_std::bit_cast<float>(a < b ? a : b);
}

// tanh(x) = x P(x^2) / Q(x^2), and 1 or -1 where the ratio is larger. The coefficients minimise the
// largest relative error between 0 and 9, which is 0.35 units of 2^-24; roundings add up to 6 units
// in the last place.
TESSERA_DEVICE_FUNCTION inline float Tanh(float x) {
  const float z = Lesser(x * x, 80.0f);
  const float p = x * Polynomial(z, 0.999999979f, 0.133810257f, 0.00349558824f, 2.06090853e-05f,
                                 1.33546674e-08f);
  const float q =
      Polynomial(z, 1.0f, 0.467143413f, 0.0258769825f, 0.000328563506f, 7.77656037e-07f);
  const float least = p > q ? q : p;
  return (least < -q ? -q : least) / q;
}

// 1 / (1 + exp(-x)).
TESSERA_DEVICE_FUNCTION inline float Sigmoid(float x) {
  const float e = ExpOfNegative(-std::fabs(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

// log(1 + exp(x)), without overflow.
TESSERA_DEVICE_FUNCTION inline float Softplus(float x) {
  const float e = ExpOfNegative(-std::fabs(x));
  const float u = 1.0f + e;
  // This is how Log1p() treats numbers from 0 to 1.
  return (x < 0.0f ? 0.0f : x) + (Log(u) + (e - (u - 1.0f)) / u);
}

// erfc(x) = exp(-x^2) P(u) / (x + 1.5) for x >= 0, u = (x - 1.5) / (x + 1.5); erfc(-x) = 2 -
// erfc(x).
TESSERA_DEVICE_FUNCTION inline float Erfc(float x) {
  const float a = std::fabs(x);
  const float t = 1.0f / (a + 1.5f);
  const float u = 1.0f - 3.0f * t;
  const float p = Polynomial(u, 0.96475625f, -0.507850051f, 0.0756228343f, 0.0477691628f,
                             -0.00813420489f, -0.00946973171f, -0.000738285133f, 0.00181694573f,
                             0.000731280888f, -0.000162341705f, -0.000133887355f);
  // The square's rounding error matters to the exponential.
  const float near = Lesser(a, 9.39f);  // beyond it erfc is 0
  const float square = near * near;
  const float lost = std::fma(near, near, -square);
  const float tail = ExpOfBounded(-square, -lost) * p * t;
  return x < 0.0f ? 2.0f - tail : tail;
}

// erf(x): a polynomial about 0, 1 - P(|x|)^8 beyond. The error of P near 4 is nothing next to 1, so
// that a power needs fewer terms than a polynomial for erfc(x) itself, and no exponential.
TESSERA_DEVICE_FUNCTION inline float Erf(float x) {
  const float z = x * x;
  const float near = x * Polynomial(z, 1.12837917f, -0.376126271f, 0.112836002f, -0.0268544446f,
                                    0.00518953533f, -0.000802084123f, 7.88911937e-05f);
  const float size = std::fabs(x);
  const float bounded = 4.0f < size ? 4.0f : size;  // erf(4) is 1; NaN passes
  const float root = Polynomial(bounded, 1.00037289f, -0.142934665f, -0.065538995f, -0.00704353536f,
                                0.0102485558f, -0.00149831455f, -4.15306276e-05f, 1.57844024e-05f);
  const float square = root * root, fourth = square * square;
  const float far = std::copysign(1.0f - fourth * fourth, x);
  return size < 1.0f ? near : far;
}

// x erfc(-x / sqrt(2)) / 2.
TESSERA_DEVICE_FUNCTION inline float Gelu(float x) { return 0.5f * x * Erfc(-0.707106781f * x); }

// x (1 + tanh(y)) / 2, which is x / (1 + exp(-2y)), for y = sqrt(2 / pi) (x + 0.044715 x^3).
TESSERA_DEVICE_FUNCTION inline float ApproximateGelu(float x) {
  return x * Sigmoid(1.59576912f * (x + 0.044715f * x * x * x));
}

TESSERA_DEVICE_FUNCTION inline double Exp(double x) { return std::exp(x); }
TESSERA_DEVICE_FUNCTION inline double ExpOfNegative(double x) { return std::exp(x); }
TESSERA_DEVICE_FUNCTION inline double Log(double x) { return std::log(x); }
TESSERA_DEVICE_FUNCTION inline double Expm1(double x) { return std::expm1(x); }
TESSERA_DEVICE_FUNCTION inline double Expm1OfNegative(double x) { return std::expm1(x); }
TESSERA_DEVICE_FUNCTION inline double Log1p(double x) { return std::log1p(x); }
// expm1(x) = 2^n expm1(r) + (2^n - 1) for 0 <= x <= 40. The coefficients are those of the Taylor
// series but for the error of 2^-53 that they spread over all r, from -ln(2) / 2 to ln(2) / 2.
TESSERA_DEVICE_FUNCTION inline double Expm1OfPositive(double x) {
  constexpr double kDoubleRounder = 6755399441055744.0;  // 1.5 * 2^52
  const double rounded = x * 1.4426950408889634 + kDoubleRounder;
  const double n = rounded - kDoubleRounder;
  // ln(2) in two parts, the first of few bits.
  const double r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
  const double q =
      Polynomial(r, 0.5, 0x1.5555555555555p-3, 0x1.5555555554cb0p-5, 0x1.1111111110e68p-7,
                 0x1.6c16c173948e7p-10, 0x1.a01a01a4b5f72p-13, 0x1.a019c98e708e7p-16,
                 0x1.71de17d5ef6f3p-19, 0x1.288060f149570p-22, 0x1.af2391d7f5e6cp-26);
  const uint64_t exponent = device_std::bit_cast<uint64_t>(rounded) + 1023;
  const double power = device_std::bit_cast<double>(exponent << 52);
  return (r + r * r * q) * power + (power - 1.0);
}
// tanh(x) = t / (t + 2) for t = expm1(2x) and x >= 0, with an error of 3 units in the last place at
// most, as the C library's. It is 1 from 20 on.
TESSERA_DEVICE_FUNCTION inline double Tanh(double x) {
  const double size = std::fabs(x);
  const double t = Expm1OfPositive(2 * (20.0 < size ? 20.0 : size));  // NaN passes
  return std::copysign(t / (t + 2), x);
}
TESSERA_DEVICE_FUNCTION inline double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
TESSERA_DEVICE_FUNCTION inline double Softplus(double x) {
  return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::abs(x)));
}
TESSERA_DEVICE_FUNCTION inline double Erfc(double x) { return std::erfc(x); }
// NaN where the square overflows, as in TensorFlow.
TESSERA_DEVICE_FUNCTION inline double Erf(double x) {
  return x * x < device_std::numeric_limits<double>::infinity() ? std::erf(x) : kNaN;
}

template <typename T>
TESSERA_DEVICE_FUNCTION Complex<T> Exp(Complex<T> x) {
  return device_std::exp(x);
}
template <typename T>
TESSERA_DEVICE_FUNCTION Complex<T> Log(Complex<T> x) {
  return device_std::log(x);
}
template <typename T>
TESSERA_DEVICE_FUNCTION Complex<T> Tanh(Complex<T> x) {
  return device_std::tanh(x);
}
template <typename T>
TESSERA_DEVICE_FUNCTION Complex<T> Sigmoid(Complex<T> x) {
  return T{1} / (T{1} + device_std::exp(-x));
}
// Both keep their precision about 0.
template <typename T>
TESSERA_DEVICE_FUNCTION Complex<T> Expm1(Complex<T> x) {
  const T s = std::sin(x.imag() / 2);
  const T e = std::exp(x.real());
  return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * s * s, e * std::sin(x.imag())};
}
template <typename T>
TESSERA_DEVICE_FUNCTION Complex<T> Log1p(Complex<T> x) {
  constexpr T kNan = device_std::numeric_limits<T>::quiet_NaN(),
              kInf = device_std::numeric_limits<T>::infinity();
  const T a = x.real(), b = x.imag();
  // At the branch point and beyond all numbers TensorFlow's values, not those of C's clog().
  if (a == -1 && b == 0) return {-kInf, kNan};
  if (!std::isfinite(a) || !std::isfinite(b)) {
    return a == kInf && b == 0 ? x : Complex<T>(kNan, kNan);
  }
  // |1 + x|^2 - 1 = 2a + a^2 + b^2
  const T square = a * (2 + a) + b * b;
  const T real =
      std::abs(square) < T{0.5} ? std::log1p(square) / 2 : std::log(device_std::abs(T{1} + x));
  return {real, std::atan2(b, 1 + a)};
}

}  // namespace TESSERA_VECTOR_ABI
}  // namespace tessera::math

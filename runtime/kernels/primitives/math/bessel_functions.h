// Bessel functions of orders 0 and 1 in double precision, relative errors about 1e-14 (absolute
// ones near zeros). The suffix e means scaled: I by exp(-|x|), K by exp(x). K and Y want x > 0:
// they are infinite elsewhere. Thread-safe. Formulas: NIST Digital Library of Mathematical
// Functions, chapter 10.
//
// Loops have several forms, and each would inline the functions: hence noinline.
#pragma once

#include <cmath>

#include "runtime/kernels/primitives/math/constants.h"
#include "runtime/kernels/primitives/math/device_std.h"

namespace tessera::special {
namespace internal {

// I of `order` for 0 <= x <= 30 by its power series, whose terms are all positive.
TESSERA_DEVICE_FUNCTION inline double SmallI(int order, double x) {
  const double z = x * x / 4;
  double term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; k < 500 && term > kEpsilon * 1e-2 * sum; ++k) {
    term *= z / (k * (k + order));
    sum += term;
  }
  return sum;
}

// I scaled, for x > 30 by the asymptotic series.
TESSERA_DEVICE_FUNCTION inline double LargeIe(int order, double x) {
  if (std::isinf(x)) return 0;
  const double mu = 4 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const double odd = 2 * k - 1;
    term *= -(mu - odd * odd) / (8 * k * x);
    sum += term;
    if (std::abs(term) < kEpsilon * 1e-2) break;
  }
  return sum / std::sqrt(2 * kPi * x);
}

TESSERA_DEVICE_FUNCTION inline double Ie(int order, double x) {
  if (std::isnan(x)) return x;
  const double a = std::abs(x);
  const double value = a <= 30 ? SmallI(order, a) * std::exp(-a) : LargeIe(order, a);
  return order == 1 && std::signbit(x) ? -value : value;
}

// K0 for 0 < x <= 1 by its series.
TESSERA_DEVICE_FUNCTION inline double SmallK0(double x) {
  const double z = x * x / 4;
  double term = 1, harmonic = 0, sum = 0;
  for (int k = 1; k < 30; ++k) {
    term *= z / (k * k);
    harmonic += 1.0 / k;
    sum += term * harmonic;
  }
  return sum - (std::log(x / 2) + kEulerGamma) * SmallI(0, x);
}

// K scaled, for x > 1: the integral of exp(-x (cosh t - 1)) cosh(order t) over t >= 0 by the
// trapezoidal rule, which converges exponentially for it.
TESSERA_DEVICE_FUNCTION inline double LargeKe(int order, double x) {
  if (std::isinf(x)) return 0;
  const double end = std::acosh(1 + 45 / x);  // beyond, the integrand is below exp(-45)
  constexpr int kSteps = 64;
  const double h = end / kSteps;
  double sum = 0.5;
  for (int i = 1; i <= kSteps; ++i) {
    const double s = std::sinh(h * i / 2);
    sum += std::exp(-2 * x * s * s) * (order == 0 ? 1 : std::cosh(h * i));
  }
  return sum * h;
}

TESSERA_DEVICE_FUNCTION inline double Ke(int order, double x) {
  if (std::isnan(x)) return x;
  if (x <= 0) return kInf;
  if (x > 1) return LargeKe(order, x);
  const double k0 = SmallK0(x);
  if (order == 0) return k0 * std::exp(x);
  // The Wronskian: I0 K1 + I1 K0 = 1 / x.
  return (1 / x - SmallI(1, x) * k0) / SmallI(0, x) * std::exp(x);
}

}  // namespace internal

[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double BesselI0e(double x) {
  return internal::Ie(0, x);
}
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double BesselI1e(double x) {
  return internal::Ie(1, x);
}
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double BesselK0e(double x) {
  return internal::Ke(0, x);
}
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double BesselK1e(double x) {
  return internal::Ke(1, x);
}
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double BesselK0(double x) {
  return x > 0 ? internal::Ke(0, x) * std::exp(-x) : internal::Ke(0, x);
}
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double BesselK1(double x) {
  return x > 0 ? internal::Ke(1, x) * std::exp(-x) : internal::Ke(1, x);
}

// NaN at the infinities.
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double BesselJ0(double x) {
  return std::isinf(x) ? kNaN : ::j0(x);
}
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double BesselJ1(double x) {
  return std::isinf(x) ? kNaN : ::j1(x);
}
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double BesselY0(double x) {
  if (x <= 0) return -kInf;
  return std::isinf(x) ? kNaN : ::y0(x);
}
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double BesselY1(double x) {
  if (x <= 0) return -kInf;
  return std::isinf(x) ? kNaN : ::y1(x);
}

}  // namespace tessera::special

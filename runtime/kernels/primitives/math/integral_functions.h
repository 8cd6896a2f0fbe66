// Integrals of elementary functions, and inverses of some, in double precision: relative errors are
// about 1e-14. Outside a function's domain the result is NaN. Thread-safe.
// Formulas: NIST Digital Library of Mathematical Functions, chapters 6, 7 and 25.
//
// Loops have several forms, and each would inline the functions: hence noinline.
#pragma once

#include <cmath>

#include "runtime/kernels/primitives/math/constants.h"
#include "runtime/kernels/primitives/math/device_std.h"

namespace tessera::special {
namespace internal {

// The quantile of p < 1/2: an approximation of three digits, and Halley's method on top of it. In
// the tail log p is close to a parabola of the quantile, so that few steps do.
TESSERA_DEVICE_FUNCTION inline double LowerQuantile(double p) {
  // Abramowitz and Stegun, 26.2.23.
  const double t = std::sqrt(-2 * std::log(p));
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 4; ++i) {
    const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - p;
    const double step = error * std::sqrt(2 * kPi) * std::exp(x * x / 2);
    const double change = step / (1 + x * step / 2);
    x -= change;
    if (std::abs(change) < kEpsilon * std::abs(x)) break;
  }
  return x;
}

// The sum of z^k / k^2, |z| <= 1/2.
TESSERA_DEVICE_FUNCTION inline double DilogarithmSeries(double z) {
  double power = z, sum = z;
  for (int k = 2; k < 60 && std::abs(power) > kEpsilon * 1e-2 * std::abs(sum); ++k) {
    power *= z;
    sum += power / (k * k);
  }
  return sum;
}

// The exponential integral by its power series: kEulerGamma + log(x) + the sum of x^k / (k k!). For
// x > 0, all terms being positive.
TESSERA_DEVICE_FUNCTION inline double ExpintSeries(double x) {
  double term = 1, sum = 0;
  for (int k = 1; k < 1000; ++k) {
    term *= x / k;
    sum += term / k;
    if (term / k < kEpsilon * sum) break;
  }
  return kEulerGamma + std::log(x) + sum;
}

// The exponential integral for large x by its asymptotic series: exp(x) / x (1 + 1! / x + 2! / x^2
// + ...), up to the smallest term.
TESSERA_DEVICE_FUNCTION inline double ExpintAsymptotic(double x) {
  double term = 1, sum = 1;
  for (int k = 1; k < x && term > kEpsilon * sum; ++k) {
    term *= k / x;
    sum += term;
  }
  return std::exp(x) / x * sum;
}

// Both Fresnel integrals of x >= 0, the cosine's as the real part.
TESSERA_DEVICE_FUNCTION inline Complex<double> Fresnel(double x) {
  if (x > 36974) return {0.5, 0.5};  // TensorFlow ends the oscillations here
  if (x < 1.5) {
    // The power series in t = pi x^2 / 2, real and imaginary terms taking turns.
    const double t = kPi / 2 * x * x;
    double term = x, c = x, s = 0;
    for (int k = 1; k < 60; ++k) {
      term *= t / k;
      const double part = term / (2 * k + 1);
      const double sign = (k / 2) % 2 == 0 ? 1 : -1;
      (k % 2 == 0 ? c : s) += sign * part;
      if (std::abs(part) < kEpsilon * 1e-2) break;
    }
    return {c, s};
  }
  // (1 + i) / 2 erf(z), z = sqrt(pi) (1 - i) x / 2, by the continued fraction of erfc.
  using Complex = Complex<double>;
  const double t = kPi * x * x;
  Complex b(1, -t), c(1e300, 0), d = 1.0 / b, h = d;
  for (int k = 1, n = -1; k < 200; ++k) {
    n += 2;
    const double a = -static_cast<double>(n) * (n + 1);
    b += 4.0;
    d = 1.0 / (a * d + b);
    c = b + a / c;
    const Complex factor = c * d;
    h *= factor;
    if (std::abs(factor.real() - 1) + std::abs(factor.imag()) < kEpsilon) break;
  }
  h *= Complex(x, -x);
  const double phase = t / 2;
  return Complex(0.5, 0.5) * (1.0 - Complex(std::cos(phase), std::sin(phase)) * h);
}

}  // namespace internal

[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double Ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNaN;
  if (p == 0) return -kInf;
  if (p == 1) return kInf;
  if (p == 0.5) return 0;
  return p < 0.5 ? internal::LowerQuantile(p) : -internal::LowerQuantile(1 - p);
}

// The inverse of erf, and of the normal distribution function.
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double Erfinv(double x) {
  if (!(x >= -1 && x <= 1)) return kNaN;
  const double a = std::abs(x);
  if (a == 1) return std::copysign(kInf, x);
  if (a > 0.5) return std::copysign(internal::LowerQuantile((1 - a) / 2) / std::sqrt(2.0), x);
  double y = x * std::sqrt(kPi) / 2 * (1 + kPi / 12 * x * x);
  for (int i = 0; i < 4 && x != 0; ++i) {
    const double step = (std::erf(y) - x) * std::sqrt(kPi) / 2 * std::exp(y * y);
    const double change = step / (1 + y * step);
    y -= change;
    if (std::abs(change) < kEpsilon * std::abs(y)) break;
  }
  return y;
}

// exp(-x^2) times the integral of exp(t^2) over [0, x].
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double Dawsn(double x) {
  const double a = std::abs(x);
  if (a < 0.2) {
    // x - 2/3 x^3 + 4/15 x^5 - ...
    double term = x, sum = x;
    for (int k = 1; k < 20; ++k) {
      term *= -2 * x * x / (2 * k + 1);
      sum += term;
    }
    return sum;
  }
  if (a > 12) {
    const double y = 1 / (2 * x * x);
    return (1 + y * (1 + 3 * y * (1 + 5 * y * (1 + 7 * y * (1 + 9 * y))))) / (2 * x);
  }
  // Rybicki's method: samples of a Gaussian at odd multiples of h. Exact but for exp(-(pi / 2h)^2).
  constexpr double h = 0.25;
  const double n0 = 2 * std::round(a / (2 * h));
  const double rest = a - n0 * h;
  double sum = 0;
  for (int n = -27; n <= 27; n += 2) {
    const double d = rest - n * h;
    sum += std::exp(-d * d) / (n + n0);
  }
  return std::copysign(sum / std::sqrt(kPi), x);
}

// The exponential integral Ei(x), for x >= 0.
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double Expint(double x) {
  if (!(x >= 0) || std::isinf(x)) return kNaN;
  if (x == 0) return -kInf;
  if (x > 720) return kInf;
  return x < 37 ? internal::ExpintSeries(x) : internal::ExpintAsymptotic(x);
}

// The integrals of cos(pi t^2 / 2) and sin(pi t^2 / 2) over [0, x].
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double FresnelCos(double x) {
  return std::copysign(internal::Fresnel(std::abs(x)).real(), x);
}
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double FresnelSin(double x) {
  return std::copysign(internal::Fresnel(std::abs(x)).imag(), x);
}

// The integral of log(t) / (1 - t) over [1, x]: the dilogarithm of 1 - x. For finite x >= 0.
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double Spence(double x) {
  constexpr double kZeta2 = kPi * kPi / 6;
  if (!(x >= 0) || std::isinf(x)) return kNaN;
  if (x == 0) return kZeta2;
  if (x < 0.5) return kZeta2 - std::log(x) * std::log1p(-x) - internal::DilogarithmSeries(x);
  if (x <= 1.5) return internal::DilogarithmSeries(1 - x);
  // Landen's identity leads from 1 - x to w = (x - 1) / x, Euler's on to 1 / x.
  const double log_x = std::log(x), w = (x - 1) / x;
  const double of_w = w <= 0.5 ? internal::DilogarithmSeries(w)
                               : kZeta2 + std::log(w) * log_x - internal::DilogarithmSeries(1 / x);
  return -of_w - 0.5 * log_x * log_x;
}

}  // namespace tessera::special

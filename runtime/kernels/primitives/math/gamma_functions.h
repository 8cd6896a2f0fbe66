// The gamma function and what is built on it, in double precision: relative errors are about 1e-14
// for moderate arguments. Outside a function's domain the result is NaN. Thread-safe.
// Formulas: NIST Digital Library of Mathematical Functions, chapters 5, 8 and 25.
//
// Loops have several forms, and each would inline the functions: hence noinline.
#pragma once

#include <cmath>

#include "runtime/kernels/primitives/math/constants.h"
#include "runtime/kernels/primitives/math/device_std.h"

namespace tessera::special {
// log|gamma(x)|.
TESSERA_DEVICE_FUNCTION inline double Lgamma(double x) {
#ifdef __CUDA_ARCH__
  return ::lgamma(x);
#else
  int sign;  // lgamma() would write it to a global
  return ::lgamma_r(x, &sign);
#endif
}

namespace internal {

// The normal approximation of the gamma distribution is, from this shape on, as good as series that
// would take ever more terms.
inline constexpr double kLargeShape = 1e6;
inline constexpr int kMaxTerms = 20000;

// A value and its derivative by the shape parameter.
struct Dual {
  double value;
  double slope;
};
TESSERA_DEVICE_FUNCTION inline Dual operator+(Dual a, Dual b) {
  return {a.value + b.value, a.slope + b.slope};
}
TESSERA_DEVICE_FUNCTION inline Dual operator*(Dual a, Dual b) {
  return {a.value * b.value, a.slope * b.value + a.value * b.slope};
}
TESSERA_DEVICE_FUNCTION inline Dual operator/(Dual a, Dual b) {
  const double value = a.value / b.value;
  return {value, (a.slope - value * b.slope) / b.value};
}

// log(x^a exp(-x) / gamma(a + 1)).
TESSERA_DEVICE_FUNCTION inline double LogTerm(double a, double x) {
  if (a < 10) return a * std::log(x) - x - Lgamma(a + 1);
  // Stirling's formula, arranged so that large terms cancel before they are rounded.
  const double d = (x - a) / a;
  const double deviance = std::abs(d) < 0.1 ? a * (d - std::log1p(d)) : x - a - a * std::log(x / a);
  const double a2 = a * a;
  const double correction =
      (1.0 / 12 - (1.0 / 360 - (1.0 / 1260 - (1.0 / 1680 - 1.0 / 1188 / a2) / a2) / a2) / a2) / a;
  return -deviance - 0.5 * std::log(2 * kPi * a) - correction;
}

// S with Igamma(a, x) = exp(LogTerm(a, x)) S: 1 + x/(a+1) + x^2/((a+1)(a+2)) + ... For x <= a + 1.
TESSERA_DEVICE_FUNCTION inline Dual LowerSeries(double a, double x) {
  Dual term = {1, 0}, sum = term;
  for (int n = 1; n < kMaxTerms; ++n) {
    term = term * (Dual{x, 0} / Dual{a + n, 1});
    sum = sum + term;
    if (std::abs(term.value) < kEpsilon * sum.value &&
        std::abs(term.slope) <= kEpsilon * std::abs(sum.slope)) {
      break;
    }
  }
  return sum;
}

// F with Igammac(a, x) = exp(LogTerm(a, x)) a F, by Lentz' method for the continued fraction. For
// x > a + 1.
TESSERA_DEVICE_FUNCTION inline Dual UpperFraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  Dual b = {x + 1 - a, -1};
  Dual c = {1 / kTiny, 0};
  Dual d = Dual{1, 0} / b;
  Dual h = d;
  for (int i = 1; i < kMaxTerms; ++i) {
    const Dual an = {-i * (i - a), static_cast<double>(i)};
    b.value += 2;
    d = an * d + b;
    if (std::abs(d.value) < kTiny) d.value = kTiny;
    c = b + an / c;
    if (std::abs(c.value) < kTiny) c.value = kTiny;
    d = Dual{1, 0} / d;
    const Dual factor = d * c;
    h = h * factor;
    if (std::abs(factor.value - 1) < kEpsilon &&
        std::abs(factor.slope * h.value) <= kEpsilon * (std::abs(h.slope) + std::abs(h.value))) {
      break;
    }
  }
  return h;
}

// Temme's uniform expansion, to its first correction: the upper function is
// erfc(eta sqrt(a / 2)) / 2 + r, the lower one erfc(-eta sqrt(a / 2)) / 2 - r.
struct Uniform {
  double z;  // eta sqrt(a / 2)
  double r;
};
TESSERA_DEVICE_FUNCTION inline Uniform TemmeExpansion(double a, double x) {
  const double d = (x - a) / a;
  const double half_square = std::abs(d) < 0.1 ? d - std::log1p(d) : d - std::log(x / a);
  const double eta = std::copysign(std::sqrt(2 * half_square), d);
  const double c0 = std::abs(d) < 1e-3 ? -1.0 / 3 + d / 12 : 1 / d - 1 / eta;
  return {eta * std::sqrt(a / 2), std::exp(-a * half_square) / std::sqrt(2 * kPi * a) * c0};
}

TESSERA_DEVICE_FUNCTION inline bool InDomain(double a, double x) { return a >= 0 && x >= 0; }

// The continued fraction of Betainc, by Lentz' method.
TESSERA_DEVICE_FUNCTION inline double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m < kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a - 1 + 2 * m) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 1 + 2 * m));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    h *= d * c;
    if (std::abs(d * c - 1) < kEpsilon) break;
  }
  return h;
}

// Zeta for q > 0, by the Euler-Maclaurin formula after some terms.
TESSERA_DEVICE_FUNCTION inline double ZetaOfPositive(double x, double q) {
  double sum = 0;
  for (int i = 0; i < 10; ++i, q += 1) {
    const double term = std::pow(q, -x);
    sum += term;
    if (term <= kEpsilon * 1e-3 * sum) return sum;  // also where all terms are 0, as for q = inf
  }
  const double power = std::pow(q, -x);
  sum += power * q / (x - 1) + power / 2;
  // Bernoulli numbers B_2k / (2k)!.
  constexpr double kCoefficients[] = {1.0 / 12,
                                      -1.0 / 720,
                                      1.0 / 30240,
                                      -1.0 / 1209600,
                                      1.0 / 47900160,
                                      -691.0 / 1307674368000.0,
                                      1.0 / 74724249600.0,
                                      -3617.0 / 10670622842880000.0,
                                      43867.0 / 5109094217170944000.0,
                                      -174611.0 / 802857662698291200000.0};
  double factor = power / q * x;
  for (int k = 0; k < 10; ++k) {
    const double term = kCoefficients[k] * factor;
    sum += term;
    if (std::abs(term) < kEpsilon * 1e-2 * sum) break;
    factor *= (x + 2 * k + 1) * (x + 2 * k + 2) / (q * q);
  }
  return sum;
}

}  // namespace internal

// Derivative of log(gamma(x)). NaN at the poles 0, -1, -2, ...
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double Digamma(double x) {
  if (std::isnan(x) || x == -kInf) return kNaN;
  double result = 0;
  if (x <= 0) {
    if (x == std::floor(x)) return kNaN;
    result = -kPi / std::tan(kPi * (x - std::round(x)));
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double y = 1 / (x * x);
  const double series =
      y * (1.0 / 12 - y * (1.0 / 120 -
                           y * (1.0 / 252 -
                                y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y / 12))))));
  return result + std::log(x) - 0.5 / x - series;
}

// Hurwitz' zeta: sum of (q + k)^-x for k = 0, 1, 2, ... Requires x >= 1, and for negative q that x
// be an integer.
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double Zeta(double x, double q) {
  if (x == 1) return kInf;  // even for a NaN, as TensorFlow has it
  if (std::isnan(x) || std::isnan(q) || x < 1) return kNaN;
  if (q > 0) return internal::ZetaOfPositive(x, q);
  const bool is_even = std::isinf(x) || std::fmod(x, 2.0) == 0;
  // A pole: of both signs for odd x.
  if (q == std::floor(q)) return is_even ? kInf : kNaN;
  if (x != std::floor(x)) return kNaN;
  // The terms below zero are, but for the sign, those from the fraction of |q| up to |q|.
  const double fraction = -q - std::floor(-q);
  const double below = internal::ZetaOfPositive(x, fraction);
  const double above = internal::ZetaOfPositive(x, 1 - fraction);
  const double rest = internal::ZetaOfPositive(x, 1 - q);
  // The large numbers come first: for odd x they cancel where q is near a half.
  return is_even ? (above + below) - rest : (above - below) + rest;
}

// Derivative of order n of Digamma(x), n = 0, 1, 2, ...
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double Polygamma(double n, double x) {
  if (!(n >= 0) || n != std::floor(n)) return kNaN;
  if (n == 0) return Digamma(x);
  const double sign = std::fmod(n, 2.0) == 0 ? -1 : 1;
  return sign * std::exp(Lgamma(n + 1)) * Zeta(n + 1, x);
}

// Regularised incomplete gamma functions, lower and upper: a >= 0, x >= 0.
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double Igamma(double a, double x) {
  if (x == 0) return 0;  // whatever `a` is, as TensorFlow has it
  if (!internal::InDomain(a, x) || a == 0) return kNaN;
  if (std::isinf(a)) return 0;  // even if x is infinite too, as TensorFlow has it
  if (std::isinf(x)) return 1;
  if (a > internal::kLargeShape) {
    const internal::Uniform u = internal::TemmeExpansion(a, x);
    return 0.5 * std::erfc(-u.z) - u.r;
  }
  if (x <= a + 1) return std::exp(internal::LogTerm(a, x)) * internal::LowerSeries(a, x).value;
  return 1 - std::exp(internal::LogTerm(a, x)) * a * internal::UpperFraction(a, x).value;
}

[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double Igammac(double a, double x) {
  if (!internal::InDomain(a, x) || a == 0) return kNaN;
  if (x == 0) return 1;
  // TensorFlow has 0 for both infinite, as for Igamma() of them.
  if (std::isinf(x)) return 0;
  if (std::isinf(a)) return 1;
  if (a > internal::kLargeShape) {
    const internal::Uniform u = internal::TemmeExpansion(a, x);
    return 0.5 * std::erfc(u.z) + u.r;
  }
  if (x <= a + 1) return 1 - std::exp(internal::LogTerm(a, x)) * internal::LowerSeries(a, x).value;
  return std::exp(internal::LogTerm(a, x)) * a * internal::UpperFraction(a, x).value;
}

// Derivative by alpha of a sample x of the gamma distribution, its quantile being kept.
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double RandomGammaGrad(double alpha, double x) {
  if (x == 0) return 0;
  if (!internal::InDomain(alpha, x) || alpha == 0) return kNaN;
  if (std::isinf(alpha) || std::isinf(x)) return 0;
  if (alpha > internal::kLargeShape) return 1 + (x - alpha) / (2 * alpha);
  // Minus the derivative of the distribution function by alpha over its density; the factor
  // exp(LogTerm) alpha / x, which is the density, cancels.
  if (x <= alpha + 1) {
    const internal::Dual s = internal::LowerSeries(alpha, x);
    return -(s.value * (std::log(x) - Digamma(alpha + 1)) + s.slope) * x / alpha;
  }
  const internal::Dual f = internal::UpperFraction(alpha, x);
  return (f.value * (std::log(x) - Digamma(alpha)) + f.slope) * x;
}

// Derivative of Igamma(a, x) by a.
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double IgammaGradA(double a, double x) {
  const double slope = RandomGammaGrad(a, x);
  if (!(slope != 0)) return slope;
  return -slope * std::exp(internal::LogTerm(a, x)) * a / x;
}

// Regularised incomplete beta function: a > 0, b > 0, 0 <= x <= 1. Whatever the other numbers are,
// a NaN or infinite among them, it is 0 at 0 and 1 at 1, as TensorFlow has it.
[[gnu::noinline]] TESSERA_DEVICE_FUNCTION inline double Betainc(double a, double b, double x) {
  if (a <= 0 || b <= 0) return kNaN;
  if (x == 0 || x == 1) return x;
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || std::isinf(a) || std::isinf(b)) return kNaN;
  const double front =
      std::exp(Lgamma(a + b) - Lgamma(a) - Lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * internal::BetaFraction(a, b, x) / a;
  return 1 - front * internal::BetaFraction(b, a, 1 - x) / b;
}

}  // namespace tessera::special

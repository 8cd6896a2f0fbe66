// Some special functions of float, without branches: loops over them vectorise. They are computed
// in float, but for what only double makes exact. Relative errors are a few units in the last
// place.
//
// Polynomials are minimax fits.
#pragma once

#include <cmath>

#include "runtime/kernels/primitives/math/elementary_functions.h"

namespace tessera::special {
namespace internal {

// erfinv(x) by w = -log(1 - x^2): x times a polynomial of w about 0, and a polynomial of 1 /
// sqrt(w) times sqrt(w) beyond, down to the least positive 1 - |x|.
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float InverseErf(float x, float w) {
  const float near =
      x * math::Polynomial(w - 2.5f, 1.50140936f, 0.246640286f, -0.00417738678f, -0.00125274188f,
                           0.000218344439f, -4.96334785e-06f, -3.46270476e-06f, 4.66170664e-07f,
                           2.32326443e-08f, -8.79105646e-09f);
  const float root = std::sqrt(w);
  const float far = root * math::Polynomial(1.0f / root - 0.27f, 0.956018336f, -0.194352236f,
                                            0.11144416f, 0.487862407f, -0.813350324f, 0.310598697f,
                                            -3.1526784f, 5.88051974f, 3.53960199f);
  return w < 5.0f ? near : std::copysign(far, x);
}

// A function of |x|, the one for |x| <= 8 or the other.
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float SmallOrLarge(float a, float small,
                                                                         float large) {
  return a <= 8.0f ? small * math::ExpOfNegative(-a) : large / std::sqrt(a);
}

// The sine and the cosine of pi x for |x| <= 1/2.
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float SinOfPi(float x) {
  return x * math::Polynomial(x * x, 3.14159265f, -5.16771278f, 2.55016404f, -0.599264529f,
                              0.0821458866f, -0.00737043094f);
}
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float CosOfPi(float x) {
  return math::Polynomial(x * x, 1.0f, -4.9348022f, 4.05871213f, -1.33526277f, 0.23533063f,
                          -0.0258068913f, 0.00192957431f);
}

// math::Polynomial() of double.
TESSERA_DEVICE_FUNCTION inline double DoublePolynomial(double, double c0) { return c0; }
template <typename... C>
TESSERA_DEVICE_FUNCTION inline double DoublePolynomial(double x, double c0, C... rest) {
  return c0 + x * DoublePolynomial(x, rest...);
}

// Multiplies *product by *a - 1, and takes 1 from *a, as often as *a is 2 or more, kTimes at most.
// Recursive, since a loop in a loop would not vectorise.
template <int kTimes>
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline void ShiftBelowTwo(double* a,
                                                                         double* product) {
  if constexpr (kTimes > 0) {
    const bool is_large = *a >= 2.0;
    *a -= is_large ? 1.0 : 0.0;
    *product *= is_large ? *a : 1.0;
    ShiftBelowTwo<kTimes - 1>(a, product);
  }
}

// pi / (gamma(1 - x) |sin(pi x)|), which is |gamma(x)|, for -12 < x < 0; `rest` is the distance of
// x from the nearest integer. In double, since the logarithm of what is close to 1 magnifies
// errors.
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline double AbsGammaOfNegative(float x,
                                                                                float rest) {
  // gamma(1 - x) = product * gamma(a) with 1 <= a < 2
  double a = 1.0 - static_cast<double>(x), product = 1.0;
  ShiftBelowTwo<11>(&a, &product);
  const double inverse_gamma = DoublePolynomial(
      a - 1.5, 1.1283791670955126, -0.04117452644533964, -0.5266544355252959, 0.17510202605021308,
      0.050966860231620906, -0.04215516956775065, 0.006612898216361263, 0.002120734141813409,
      -0.001110734744830377, 0.00015233999053363364, 2.5381758251474727e-05,
      -1.3842725947964626e-05, 2.078432321644261e-06);
  const double r = static_cast<double>(rest);
  const double sine =
      r * DoublePolynomial(r * r, 3.141592653589793, -5.167712780049969, 2.550164039877345,
                           -0.5992645293207919, 0.08214588661112819, -0.007370430945714348,
                           0.00046630280576761234, -2.1915353447830204e-05, 7.952054001475508e-07,
                           -2.2948428997269856e-08);
  return 3.141592653589793 * inverse_gamma / (product * std::fabs(sine));
}

// asin(sqrt(z)) / sqrt(z) for 0 <= z <= 1/4.
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float ArcsineSeries(float z) {
  return 1.0f + z * math::Polynomial(z, 0.166666663f, 0.0750009873f, 0.044598039f, 0.0311160944f,
                                     0.0170781077f, 0.0338053871f);
}

}  // namespace internal

// x asin(sqrt(z)) / sqrt(z) with z = x^2 for |x| <= 1/2, and pi / 2 - 2 asin(sqrt((1 - |x|) / 2))
// with the sign of x beyond. NaN outside of [-1, 1].
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float Asin(float x) {
  const float a = std::fabs(x);
  const bool is_large = a > 0.5f;
  const float z = is_large ? 0.5f * (1.0f - a) : x * x;
  const float root = is_large ? 2.0f * std::sqrt(z) : a;
  // The constant for pi / 2 is rounded up, by what is added to the arcsine.
  const float start = is_large ? 1.57079637f : 0.0f;
  const float excess = is_large ? 4.37113883e-8f : 0.0f;
  // The sign of the difference does not matter, since that of x replaces it.
  const float difference = (root * internal::ArcsineSeries(z) + excess) - start;
  return std::copysign(difference, x);
}

// sqrt(1 - |x|) times a polynomial of |x|, or pi less that for x < 0. NaN outside of [-1, 1].
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float Acos(float x) {
  const float a = std::fabs(x);
  const float arccosine =
      std::sqrt(1.0f - a) * math::Polynomial(a, 1.57079637f, -0.214598697f, 0.0889773122f,
                                             -0.0501641884f, 0.0308627515f, -0.017045102f,
                                             0.00663861834f, -0.00125345706f);
  // The constant for pi is rounded up, by what is added to the arccosine.
  return x < 0.0f ? 3.14159274f - (arccosine + 8.74227766e-8f) : arccosine;
}

// The derivative of log(gamma(x)): four steps up from below 4, and the asymptotic series there.
// Negative numbers are reflected. NaN at the poles 0, -1, -2, ...
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float Digamma(float x) {
  const bool is_reflected = x <= 0.0f;
  const float a = is_reflected ? 1.0f - x : x;
  const bool is_small = a < 4.0f;
  // 1 / a + 1 / (a + 1) + 1 / (a + 2) + 1 / (a + 3)
  const float u = a * (a + 3.0f);
  const float steps = (2.0f * a + 3.0f) * (2.0f * u + 2.0f) / (u * (u + 2.0f));
  const float b = is_small ? a + 4.0f : a;
  const float inverse = 1.0f / b, square = inverse * inverse;
  const float series = square * math::Polynomial(square, 0.0833333327f, -0.00833300239f,
                                                 0.00394060727f, -0.00340241597f);
  const float positive = math::Log(b) - 0.5f * inverse - series - (is_small ? steps : 0.0f);
  const float rest = x - std::rint(x);
  const float cotangent = internal::CosOfPi(rest) / internal::SinOfPi(rest);
  const float reflected = rest == 0.0f ? math::kNaN : positive - 3.14159265f * cotangent;
  return is_reflected ? reflected : positive;
}

// log|gamma(x)|: by its zeros at 1 and 2 below 3, by Stirling's series from there. Negative numbers
// are reflected, in double down to -12: beyond there are no floats near a zero. Infinite at the
// poles 0, -1, -2, ...
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float Lgamma(float x) {
  const bool is_reflected = x < 0.0f;
  const float a = is_reflected ? 1.0f - x : x;
  const float log = math::Log(a);
  // log(gamma(t + 2)), and one step down from there below 1
  const float t = a < 1.0f ? a - 1.0f : a - 2.0f;
  const float quotient = math::Polynomial(
      t, 0.422784328f, -0.100317307f, 0.0329650044f, -0.0123841148f, 0.00499854749f,
      -0.00210894155f, 0.000916104007f, -0.000401982281f, 0.000179804279f, -9.17357465e-05f,
      4.37115268e-05f, -7.28024906e-06f, 2.2435338e-06f, -9.67842425e-06f, 4.87630041e-06f);
  const float near = (t + 1.0f) * t * quotient - (a < 1.0f ? log : 0.0f);
  const float inverse = 1.0f / a;
  const float series = inverse * math::Polynomial(inverse * inverse, 0.0833333333f, -0.00277777778f,
                                                  0.000793650794f);
  const float far = (a - 0.5f) * (log - 1.0f) + (0.418938533f + series);
  const float positive = a >= 3.0f ? far : near;
  const float rest = x - std::rint(x);
  const float sine = internal::SinOfPi(rest);
  const float reflected = 1.14472989f - math::Log(std::fabs(sine)) - positive;
  const double exact = internal::AbsGammaOfNegative(x, rest);
  const float gamma = static_cast<float>(exact), beyond_one = static_cast<float>(exact - 1.0);
  const float log_gamma = std::fabs(beyond_one) < 0.5f ? math::Log1p(beyond_one) : math::Log(gamma);
  const float negative = a < 13.0f && gamma < 1e6f ? log_gamma : reflected;
  // All numbers are integers from here on.
  constexpr float kIntegers = 8388608.0f;
  return is_reflected ? (a < kIntegers ? negative : math::kInf) : positive;
}

// NaN outside of [-1, 1].
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float Erfinv(float x) {
  return internal::InverseErf(x, -math::Log((1.0f - x) * (1.0f + x)));
}

// The quantile of the normal distribution: sqrt(2) erfinv(2 p - 1). NaN outside of [0, 1].
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float Ndtri(float p) {
  return 1.41421356f * internal::InverseErf(2.0f * p - 1.0f, -math::Log(4.0f * p * (1.0f - p)));
}

// exp(-|x|) I(x) of order 0: its power series in x^2 / 4, or a polynomial of 1 / |x| by sqrt(|x|).
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float BesselI0e(float x) {
  const float a = std::fabs(x);
  const float series =
      math::Polynomial(0.25f * x * x, 1.0f, 0.999999992f, 0.250000035f, 0.0277777256f,
                       0.00173614865f, 6.9429609e-05f, 1.93249222e-06f, 3.88651201e-08f,
                       6.59918998e-10f, 5.2201713e-12f, 1.42253864e-13f);
  const float large = math::Polynomial(1.0f / a, 0.398942277f, 0.049869586f, 0.0278988036f,
                                       0.0337851009f, -0.0138506052f, 0.387966981f);
  return internal::SmallOrLarge(a, series, large);
}

// Returns exp(-|x|) I(x) of order 1, as BesselI0e() does of order 0.
[[gnu::always_inline]] TESSERA_DEVICE_FUNCTION inline float BesselI1e(float x) {
  const float a = std::fabs(x);
  const float series =
      0.5f * a *
      math::Polynomial(0.25f * x * x, 1.0f, 0.499999999f, 0.0833333385f, 0.00694443763f,
                       0.000347226644f, 1.15724669e-05f, 2.75925024e-07f, 4.87298739e-09f,
                       7.24215174e-11f, 5.5199218e-13f, 1.25143347e-14f);
  const float large = math::Polynomial(1.0f / a, 0.398942284f, -0.149605447f, -0.04657578f,
                                       -0.046156076f, 0.00969669455f, -0.452371532f);
  return std::copysign(internal::SmallOrLarge(a, series, large), x);
}

}  // namespace tessera::special

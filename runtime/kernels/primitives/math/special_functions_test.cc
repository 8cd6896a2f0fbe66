// Identities between special functions, and their values where they are known in closed form.
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/math/bessel_functions.h"
#include "runtime/kernels/primitives/math/float_special_functions.h"
#include "runtime/kernels/primitives/math/gamma_functions.h"
#include "runtime/kernels/primitives/math/integral_functions.h"

namespace tessera::special {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void ExpectClose(double got, double want, double tolerance = 1e-13) {
  EXPECT_NEAR(got, want, tolerance * std::max(1.0, std::abs(want)));
}

TEST(SpecialFunctionsTest, DigammaObeysRecurrenceAndReflection) {
  ExpectClose(Digamma(1.0), -0.57721566490153286061);
  for (double x : {0.1, 0.7, 1.4616, 3.3, 25.0, 1e5}) {
    ExpectClose(Digamma(x + 1) - Digamma(x), 1 / x, 1e-12);
  }
  for (double x : {0.25, 0.6, 3.2})
    ExpectClose(Digamma(1 - x) - Digamma(x), kPi / std::tan(kPi * x), 1e-12);
  EXPECT_TRUE(std::isnan(Digamma(-2.0)));
}

TEST(SpecialFunctionsTest, FunctionsOfFloatAgreeWithThoseOfDouble) {
  const auto expect_close = [](float got, double want, double x) {
    EXPECT_NEAR(got, want, 5e-7 * std::abs(want)) << x;
  };
  for (int i = -1000; i <= 1000; ++i) {
    const float x = static_cast<float>(i) / 1000 * 0.99999f;
    expect_close(Erfinv(x), Erfinv(static_cast<double>(x)), x);
    const float far = static_cast<float>(i) / 20 + 0.01f;
    expect_close(BesselI0e(far), BesselI0e(static_cast<double>(far)), far);
    expect_close(BesselI1e(far), BesselI1e(static_cast<double>(far)), far);
  }
  for (float p = 1e-37f; p < 1; p = p * 1.1f) {
    expect_close(Ndtri(p), Ndtri(static_cast<double>(p)), p);
  }
  for (float x = 1 - 0x1p-24f; x > 0.9999f; x -= 0x1p-20f) {
    expect_close(Erfinv(-x), Erfinv(-static_cast<double>(x)), x);
  }
  EXPECT_EQ(Erfinv(1.0f), kInf);
  EXPECT_EQ(Erfinv(-1.0f), -kInf);
  EXPECT_EQ(Ndtri(0.0f), -kInf);
  EXPECT_EQ(Ndtri(1.0f), kInf);
  EXPECT_EQ(Ndtri(0.5f), 0);
  for (const float x : {-1.5f, 1.5f, std::nanf("")}) {
    EXPECT_TRUE(std::isnan(Erfinv(x)));
    EXPECT_TRUE(std::isnan(Ndtri(x)));
  }
  const auto expect_near = [](float got, double want, double x) {
    EXPECT_NEAR(got, want, 2e-6 * std::max(1.0, std::abs(want))) << x;
  };
  for (int i = -200000; i <= 200000; i += 7) {
    const float x = static_cast<float>(i) / 10000;
    if (std::abs(x - std::rint(x)) < 1e-3f) continue;
    expect_near(Digamma(x), Digamma(static_cast<double>(x)), x);
  }
  for (float x = 1e-30f; x < 1e30f; x *= 1.1f) {
    expect_near(Digamma(x), Digamma(static_cast<double>(x)), x);
  }
  for (float x = 1e-30f; x < 1e30f; x *= 1.01f) {
    expect_close(Lgamma(x), Lgamma(static_cast<double>(x)), x);
  }
  for (int i = -60000; i <= 60000; i += 7) {
    const float x = static_cast<float>(i) / 10000;
    if (x <= 0 && x == std::rint(x)) continue;
    const double want = Lgamma(static_cast<double>(x));
    EXPECT_NEAR(Lgamma(x), want, 7e-7 * std::abs(want)) << x;
  }
  // The floats beside the zeros of negative numbers.
  int num_zeros = 0;
  for (double left = -7.99995; left < -2.0; left += 1e-4) {
    const double right = left + 1e-4;
    if (Lgamma(left) * Lgamma(right) > 0) continue;
    ++num_zeros;
    for (float x = static_cast<float>(left); x < right; x = std::nextafter(x, 0.0f)) {
      const double want = Lgamma(static_cast<double>(x));
      EXPECT_NEAR(Lgamma(x), want, 7e-7 * std::abs(want)) << x;
    }
  }
  EXPECT_GT(num_zeros, 8);
  for (const float pole : {0.0f, -1.0f, -2.0f, -1e10f}) EXPECT_EQ(Lgamma(pole), kInf) << pole;
  EXPECT_EQ(Lgamma(static_cast<float>(kInf)), kInf);
  EXPECT_EQ(Lgamma(-static_cast<float>(kInf)), kInf);
  EXPECT_TRUE(std::isnan(Lgamma(std::nanf(""))));
  EXPECT_TRUE(std::isnan(Digamma(0.0f)));
  EXPECT_TRUE(std::isnan(Digamma(-2.0f)));
  EXPECT_EQ(BesselI0e(0.0f), 1);
  EXPECT_EQ(BesselI0e(static_cast<float>(kInf)), 0);
  EXPECT_EQ(BesselI1e(0.0f), 0);
  EXPECT_TRUE(std::isnan(BesselI0e(std::nanf(""))));
}

TEST(SpecialFunctionsTest, ArcsineAndArccosineOfFloatsAreWithinThreeUnits) {
  const auto unit = [](double want) {
    const float rounded = std::fabs(static_cast<float>(want));
    return std::nextafter(rounded, 10.0f) - rounded;
  };
  for (int i = -100000; i <= 100000; ++i) {
    const float x = static_cast<float>(i) / 100000;
    const double arcsine = std::asin(static_cast<double>(x));
    const double arccosine = std::acos(static_cast<double>(x));
    EXPECT_NEAR(Asin(x), arcsine, 3 * unit(arcsine)) << x;
    EXPECT_NEAR(Acos(x), arccosine, 3 * unit(arccosine)) << x;
  }
  for (float x = 1.0f; x > 0.9999f; x = std::nextafter(x, 0.0f)) {
    const double want = std::acos(static_cast<double>(x));
    EXPECT_NEAR(Acos(x), want, 2e-7 * want) << x;
  }
  EXPECT_EQ(Asin(1.0f), static_cast<float>(kPi / 2));
  EXPECT_EQ(Asin(-1.0f), static_cast<float>(-kPi / 2));
  EXPECT_EQ(Asin(1e-30f), 1e-30f);
  EXPECT_TRUE(std::signbit(Asin(-0.0f)));
  EXPECT_EQ(Acos(1.0f), 0);
  EXPECT_EQ(Acos(-1.0f), static_cast<float>(kPi));
  EXPECT_EQ(Acos(-0.0f), static_cast<float>(kPi / 2));
  for (const float x : {1.0001f, -2.0f, static_cast<float>(kInf), std::nanf("")}) {
    EXPECT_TRUE(std::isnan(Asin(x))) << x;
    EXPECT_TRUE(std::isnan(Acos(x))) << x;
  }
}

TEST(SpecialFunctionsTest, ZetaSumsInversePowers) {
  ExpectClose(Zeta(2, 1), kPi * kPi / 6);
  ExpectClose(Zeta(4, 1), std::pow(kPi, 4) / 90);
  for (double q : {0.3, 5.5, -0.5, -3.25, -1234567.5}) {
    ExpectClose(Zeta(3, q) - Zeta(3, q + 1), std::pow(q, -3), 1e-12);
  }
  EXPECT_EQ(Zeta(1, 2), kInf);
  EXPECT_EQ(Zeta(1, kNaN), kInf);
  EXPECT_EQ(Zeta(2, -3), kInf);
  EXPECT_EQ(Zeta(kInf, -3), kInf);
  EXPECT_TRUE(std::isnan(Zeta(2.5, -1.5)));
  EXPECT_EQ(Zeta(kInf, 1), 1);
  EXPECT_EQ(Zeta(kInf, 1.5), 0);
  EXPECT_EQ(Zeta(kInf, 0.5), kInf);
  EXPECT_EQ(Zeta(2, kInf), 0);
  EXPECT_EQ(Polygamma(1, kInf), 0);
  EXPECT_EQ(Polygamma(kInf, 0), kInf);
  // The terms of -0.5 and 0.5 cancel, so that the sum begins at 1.5.
  ExpectClose(Zeta(51, -0.5) / Zeta(51, 1.5), 1);
  ExpectClose(Zeta(51, -2.5) / Zeta(51, 3.5), 1);
  ExpectClose(Polygamma(1, 1), kPi * kPi / 6);
}

TEST(SpecialFunctionsTest, IncompleteGammaFunctionsAddUpToOne) {
  for (double a : {0.01, 0.5, 1.0, 7.5, 100.0, 1e5, 3e6, 1e9}) {
    for (double t : {0.1, 0.9, 0.999, 1.0, 1.001, 1.5, 9.0}) {
      ExpectClose(Igamma(a, a * t) + Igammac(a, a * t), 1, 1e-12);
    }
  }
  for (double x : {0.1, 1.0, 4.0}) {
    ExpectClose(Igamma(1, x), -std::expm1(-x));
    ExpectClose(Igamma(0.5, x * x), std::erf(x));
  }
}

TEST(SpecialFunctionsTest, IncompleteGammaFunctionsOfInfinities) {
  EXPECT_EQ(Igammac(1, kInf), 0);
  EXPECT_EQ(Igammac(kInf, 1), 1);
  EXPECT_EQ(Igammac(kInf, kInf), 0);
  EXPECT_EQ(Igamma(kInf, kInf), 0);
  EXPECT_EQ(RandomGammaGrad(kInf, kInf), 0);
  EXPECT_EQ(IgammaGradA(kInf, kInf), 0);
  for (const double a : {-1.5, -0.0, kInf, std::nan("")}) EXPECT_EQ(Igamma(a, 0), 0);
}

TEST(SpecialFunctionsTest, TheNormalApproximationMeetsTheSeries) {
  for (double d : {-3000.0, -100.0, 0.0, 100.0, 3000.0}) {
    EXPECT_NEAR(Igamma(0.9999999e6, 1e6 + d), Igamma(1.0000001e6, 1e6 + d), 2e-4);
  }
}

TEST(SpecialFunctionsTest, GradientsOfIncompleteGammaAreItsSlopes) {
  for (double a : {0.3, 2.0, 15.0, 300.0}) {
    for (double t : {0.2, 0.95, 1.3, 2.5}) {
      const double x = a * t, h = 1e-5 * a;
      const double slope = (Igamma(a + h, x) - Igamma(a - h, x)) / (2 * h);
      EXPECT_NEAR(IgammaGradA(a, x), slope, 1e-7) << a << " " << x;
      const double density = std::exp((a - 1) * std::log(x) - x - Lgamma(a));
      ExpectClose(RandomGammaGrad(a, x) * density, -IgammaGradA(a, x), 1e-10);
    }
  }
}

TEST(SpecialFunctionsTest, BetaincIsSymmetricAndKnownForSmallParameters) {
  for (double x : {0.05, 0.5, 0.8}) {
    ExpectClose(Betainc(1, 1, x), x);
    ExpectClose(Betainc(2, 1, x), x * x);
    ExpectClose(Betainc(0.5, 0.5, x), 2 / kPi * std::asin(std::sqrt(x)), 1e-12);
    ExpectClose(Betainc(3.5, 7, x) + Betainc(7, 3.5, 1 - x), 1, 1e-12);
  }
  EXPECT_TRUE(std::isnan(Betainc(0, 1, 0.5)));
}

TEST(SpecialFunctionsTest, BetaincIsKnownAtTheEndsForAnyPositiveParameters) {
  for (double a : {0.5, kInf, kNaN}) {
    for (double x : {0.0, 1.0}) {
      EXPECT_EQ(Betainc(a, 2, x), x) << a;
      EXPECT_EQ(Betainc(2, a, x), x) << a;
      EXPECT_TRUE(std::isnan(Betainc(a, 0, x))) << a;
    }
  }
  EXPECT_TRUE(std::isnan(Betainc(kInf, 2, 0.5)));
  EXPECT_TRUE(std::isnan(Betainc(kNaN, 2, 0.5)));
}

TEST(SpecialFunctionsTest, InversesInvert) {
  for (double x : {-0.999999, -0.7, -0.3, 1e-9, 0.2, 0.5, 0.9, 1 - 1e-12}) {
    EXPECT_NEAR(std::erf(Erfinv(x)), x, 1e-15);
  }
  for (double p : {1e-300, 1e-20, 0.01, 0.4, 0.5, 0.75, 0.999}) {
    ExpectClose(0.5 * std::erfc(-Ndtri(p) / std::sqrt(2.0)) / p, 1, 1e-12);
  }
  EXPECT_EQ(Ndtri(0.0), -kInf);
  EXPECT_EQ(Erfinv(1.0), kInf);
  EXPECT_TRUE(std::isnan(Ndtri(1.1)));
}

TEST(SpecialFunctionsTest, BesselFunctionsObeyTheirWronskians) {
  for (double x : {0.01, 0.5, 1.0, 1.0001, 5.0, 29.9, 30.1, 300.0}) {
    // The scaling factors cancel.
    ExpectClose((BesselI0e(x) * BesselK1e(x) + BesselI1e(x) * BesselK0e(x)) * x, 1);
    ExpectClose((BesselJ1(x) * BesselY0(x) - BesselJ0(x) * BesselY1(x)) * x, 2 / kPi);
  }
  EXPECT_EQ(BesselK0(-1), kInf);
  EXPECT_EQ(BesselI1e(-2.0), -BesselI1e(2.0));
}

TEST(SpecialFunctionsTest, IntegralsHaveTheirDerivatives) {
  constexpr double h = 1e-4;
  for (double x : {0.1, 0.1999, 0.7, 1.4999, 1.6, 4.0, 11.9999, 13.0}) {
    EXPECT_NEAR((FresnelCos(x + h) - FresnelCos(x - h)) / (2 * h), std::cos(kPi / 2 * x * x), 2e-5);
    EXPECT_NEAR((FresnelSin(x + h) - FresnelSin(x - h)) / (2 * h), std::sin(kPi / 2 * x * x), 2e-5);
    EXPECT_NEAR((Dawsn(x + h) - Dawsn(x - h)) / (2 * h), 1 - 2 * x * Dawsn(x), 1e-7);
    EXPECT_NEAR((Expint(x + h) - Expint(x - h)) / (2 * h) * x / std::exp(x), 1, 1e-5);
    EXPECT_NEAR((Spence(x + h) - Spence(x - h)) / (2 * h), std::log(x) / (1 - x), 1e-6);
  }
  ExpectClose(Spence(0), kPi * kPi / 6);
  ExpectClose(Spence(2), -kPi * kPi / 12);
}

}  // namespace
}  // namespace tessera::special

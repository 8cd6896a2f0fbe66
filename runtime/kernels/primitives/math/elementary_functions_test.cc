#include "runtime/kernels/primitives/math/elementary_functions.h"

#include <functional>
#include <random>

#include "gtest/gtest.h"

namespace tessera::math {
namespace {

// The largest error of `function` on random arguments in [low, high), in units of the last place.
double WorstError(const std::function<float(float)>& function,
                  const std::function<double(double)>& exact, double low, double high) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> arguments(low, high);
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const float x = static_cast<float>(arguments(random));
    const double want = exact(x);
    const float size = std::fabs(static_cast<float>(want));
    const double unit = std::nextafter(size, kInf) - size;
    worst = std::max(worst, std::fabs(function(x) - want) / unit);
  }
  return worst;
}

#define EXPECT_ACCURATE(function, exact, low, high)                                               \
  EXPECT_LT(                                                                                      \
      WorstError([](float x) { return function(x); }, [](double x) { return exact; }, low, high), \
      6)                                                                                          \
      << #function

TEST(ElementaryFunctionsTest, AgreesWithTheLibrary) {
  EXPECT_ACCURATE(Exp, std::exp(x), -87, 88);
  EXPECT_ACCURATE(ExpOfNegative, std::exp(x), -87, 0);
  EXPECT_ACCURATE(Log, std::log(x), 0, 3);
  EXPECT_ACCURATE(Log, std::log(x), 0, 3e38);
  EXPECT_ACCURATE(Expm1, std::expm1(x), -3, 3);
  EXPECT_ACCURATE(Expm1OfNegative, std::expm1(x), -3, 0);
  EXPECT_ACCURATE(Expm1OfNegative, std::expm1(x), -88, 0);
  EXPECT_ACCURATE(Log1p, std::log1p(x), -0.999, 3);
  EXPECT_ACCURATE(Tanh, std::tanh(x), -3, 3);
  EXPECT_ACCURATE(Tanh, std::tanh(x), 3, 20);
  EXPECT_ACCURATE(Sigmoid, 1 / (1 + std::exp(-x)), -80, 20);
  EXPECT_ACCURATE(Softplus, std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))), -80, 80);
  EXPECT_ACCURATE(Erf, std::erf(x), -4, 4);
  EXPECT_ACCURATE(Erfc, std::erfc(x), -4, 9);
  // Further down the rounding of x / sqrt(2) shows.
  EXPECT_ACCURATE(Gelu, 0.5 * x * std::erfc(-x * M_SQRT1_2), -1, 10);
  EXPECT_ACCURATE(ApproximateGelu,
                  0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))), -1,
                  10);
}

TEST(ElementaryFunctionsTest, TanhOfDoubleAgreesWithTheLibrary) {
  std::mt19937_64 random(1);
  for (const double high : {1e-300, 1e-9, 0.5, 3.0, 30.0}) {
    std::uniform_real_distribution<double> arguments(-high, high);
    for (int i = 0; i < 20000; ++i) {
      const double x = arguments(random), want = std::tanh(x), size = std::fabs(want);
      ASSERT_LE(std::fabs(Tanh(x) - want), 4 * (std::nextafter(size, 2.0) - size)) << x;
    }
  }
  EXPECT_EQ(Tanh(HUGE_VAL), 1);
  EXPECT_EQ(Tanh(-1e300), -1);
  EXPECT_TRUE(std::signbit(Tanh(-0.0)));
  EXPECT_TRUE(std::isnan(Tanh(std::nan(""))));
}

TEST(ElementaryFunctionsTest, KeepsTheEndsOfTheRange) {
  EXPECT_EQ(Exp(kInf), kInf);
  EXPECT_EQ(Exp(100.0f), kInf);
  EXPECT_EQ(Exp(-kInf), 0);
  EXPECT_EQ(Exp(-200.0f), 0);
  EXPECT_EQ(Exp(0.0f), 1);
  EXPECT_EQ(Log(kInf), kInf);
  EXPECT_EQ(Log(0.0f), -kInf);
  EXPECT_TRUE(std::isnan(Log(-1.0f)));
  EXPECT_NEAR(Log(1e-40f), std::log(1e-40), 1e-4);
  EXPECT_EQ(Log(1.0f), 0);
  EXPECT_EQ(Log1p(-1.0f), -kInf);
  EXPECT_EQ(Log1p(kInf), kInf);
  EXPECT_EQ(Tanh(kInf), 1);
  EXPECT_EQ(Tanh(-1e30f), -1);
  EXPECT_EQ(Sigmoid(-kInf), 0);
  EXPECT_EQ(Sigmoid(kInf), 1);
  EXPECT_EQ(Softplus(-kInf), 0);
  EXPECT_EQ(Softplus(kInf), kInf);
  EXPECT_EQ(Erf(kInf), 1);
  EXPECT_EQ(Erfc(-kInf), 2);
  EXPECT_EQ(Erfc(kInf), 0);
  EXPECT_EQ(ExpOfNegative(-kInf), 0);
  EXPECT_EQ(ExpOfNegative(0.0f), 1);
  EXPECT_EQ(Expm1OfNegative(-kInf), -1);
  EXPECT_EQ(Expm1OfNegative(-100.0f), -1);
  EXPECT_EQ(Gelu(kInf), kInf);
  EXPECT_EQ(Gelu(-1e30f), 0);
  EXPECT_EQ(ApproximateGelu(kInf), kInf);
  EXPECT_EQ(ApproximateGelu(-1e30f), 0);
}

TEST(ElementaryFunctionsTest, FadesOutBelowTheLeastNumber) {
  const float least = std::numeric_limits<float>::min();
  for (float x = 87.4f; x < 95; x += 0.001f) {
    ASSERT_GE(ExpOfNegative(-x), 0) << x;
    ASSERT_LT(ExpOfNegative(-x), least) << x;
  }
  for (float x = 9.2f; x < 15; x += 0.0001f) {
    ASSERT_GE(Erfc(x), 0) << x;
    ASSERT_LT(Erfc(x), least) << x;
  }
}

TEST(ElementaryFunctionsTest, DoesNotExceedOne) {
  for (float x = 3; x < 12; x = std::nextafter(x, kInf)) {
    ASSERT_LE(Tanh(x), 1) << x;
    ASSERT_LE(Erf(x), 1) << x;
  }
  EXPECT_EQ(Tanh(9.1f), 1);
  EXPECT_EQ(Erf(4.0f), 1);
  EXPECT_EQ(Tanh(-9.1f), -1);
  EXPECT_EQ(Erf(-4.0f), -1);
}

TEST(ElementaryFunctionsTest, HandsOnNaN) {
  for (float (*function)(float) : std::initializer_list<float (*)(float)>{
           Exp, ExpOfNegative, Log, Expm1, Expm1OfNegative, Log1p, Tanh, Sigmoid, Softplus, Erf,
           Erfc, Gelu, ApproximateGelu}) {
    EXPECT_TRUE(std::isnan(function(kNaN)));
  }
}

TEST(ElementaryFunctionsTest, IsExactAboutZero) {
  EXPECT_EQ(Expm1(1e-30f), 1e-30f);
  EXPECT_EQ(Expm1OfNegative(-1e-30f), -1e-30f);
  EXPECT_EQ(Log1p(1e-30f), 1e-30f);
  EXPECT_EQ(Tanh(1e-30f), 1e-30f);
  EXPECT_TRUE(std::signbit(Tanh(-0.0f)));
  EXPECT_TRUE(std::signbit(Erf(-0.0f)));
}

}  // namespace
}  // namespace tessera::math

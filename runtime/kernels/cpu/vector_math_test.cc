#include "runtime/kernels/cpu/vector_math.h"

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

TEST(VectorMathTest, AgreesWithTheLibrary) {
  EXPECT_ACCURATE(Exp, std::exp(x), -87, 88);
  EXPECT_ACCURATE(Log, std::log(x), 0, 3);
  EXPECT_ACCURATE(Log, std::log(x), 0, 3e38);
  EXPECT_ACCURATE(Expm1, std::expm1(x), -3, 3);
  EXPECT_ACCURATE(Log1p, std::log1p(x), -0.999, 3);
  EXPECT_ACCURATE(Tanh, std::tanh(x), -3, 3);
  EXPECT_ACCURATE(Sigmoid, 1 / (1 + std::exp(-x)), -80, 20);
  EXPECT_ACCURATE(Softplus, std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))), -80, 80);
  EXPECT_ACCURATE(Erf, std::erf(x), -4, 4);
  EXPECT_ACCURATE(Erfc, std::erfc(x), -4, 9);
}

TEST(VectorMathTest, KeepsTheEndsOfTheRange) {
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
}

TEST(VectorMathTest, HandsOnNaN) {
  for (float (*function)(float) : std::initializer_list<float (*)(float)>{
           Exp, Log, Expm1, Log1p, Tanh, Sigmoid, Softplus, Erf, Erfc}) {
    EXPECT_TRUE(std::isnan(function(kNaN)));
  }
}

TEST(VectorMathTest, IsExactAboutZero) {
  EXPECT_EQ(Expm1(1e-30f), 1e-30f);
  EXPECT_EQ(Log1p(1e-30f), 1e-30f);
  EXPECT_EQ(Tanh(1e-30f), 1e-30f);
}

}  // namespace
}  // namespace tessera::math

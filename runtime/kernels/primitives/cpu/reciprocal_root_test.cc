#include "runtime/kernels/primitives/cpu/reciprocal_root.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

std::vector<float> Roots(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  ReciprocalRoots(x.data(), static_cast<int64_t>(x.size()), y.data());
  return y;
}

// The largest error of Roots(x) in units of the last place. Infinities must be equal.
double WorstError(const std::vector<float>& x) {
  const std::vector<float> y = Roots(x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = 1 / std::sqrt(static_cast<double>(x[i]));
    const float size = std::fabs(static_cast<float>(exact));
    if (std::isnan(exact) || std::isinf(size) || size == 0) {
      EXPECT_TRUE(std::isnan(exact) ? std::isnan(y[i]) : y[i] == exact) << x[i];
      continue;
    }
    const double unit = std::nextafter(size, std::numeric_limits<float>::infinity()) - size;
    const double error = std::fabs(y[i] - exact) / unit;
    worst = std::max(worst, std::isnan(error) ? HUGE_VAL : error);
  }
  return worst;
}

// Roots of numbers with the mantissa m depend on whether the exponent is even. The exponents at the
// ends are those whose numbers are the last to be computed from an estimate.
TEST(ReciprocalRootTest, EveryMantissaIsHardlyMoreThanHalfAUnitOff) {
  constexpr uint32_t kBlock = 1 << 16;
  for (const uint32_t exponent : {1u, 127u, 128u, 252u}) {
    for (uint32_t first = 0; first < 1u << 23; first += kBlock) {
      std::vector<float> x(kBlock);
      for (uint32_t i = 0; i < kBlock; ++i)
        x[i] = std::bit_cast<float>(exponent << 23 | (first + i));
      ASSERT_LT(WorstError(x), 0.53) << exponent << " " << first;
    }
  }
}

// Numbers that are not normal, and very large ones, take a root and a division.
TEST(ReciprocalRootTest, EveryExponentAndSpecialNumbersToo) {
  std::vector<float> x;
  for (uint32_t high = 0; high < 1u << 16; ++high) {
    x.push_back(std::bit_cast<float>(high << 16));
    x.push_back(std::bit_cast<float>(high << 16 | 0xffff));
  }
  EXPECT_LT(WorstError(x), 1.5);
}

TEST(ReciprocalRootTest, AResultDoesNotDependOnItsNeighbours) {
  std::vector<float> x;
  for (int i = 0; i < 37; ++i) x.push_back(i % 5 == 0 ? 1e-40f : 0.37f * static_cast<float>(i));
  const std::vector<float> together = Roots(x);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(Roots({x[i]})[0], together[i]) << x[i];
}

TEST(ReciprocalRootTest, AnyNumberOfElementsIsComputed) {
  for (size_t count = 0; count < 70; ++count) {
    std::vector<float> x(count, 4);
    if (count > 0) x.back() = 0;
    std::vector<float> expected(count, 0.5);
    if (count > 0) expected.back() = std::numeric_limits<float>::infinity();
    EXPECT_EQ(Roots(x), expected) << count;
  }
}

}  // namespace
}  // namespace tessera

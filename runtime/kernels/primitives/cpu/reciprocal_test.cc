#include "runtime/kernels/primitives/cpu/reciprocal.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

std::vector<float> Divided(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = 1 / x[i];
  return y;
}

std::vector<float> Refined(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  Reciprocals(x.data(), static_cast<int64_t>(x.size()), y.data());
  return y;
}

// Returns true if all results have the same bits, or are NaN.
bool AreDivided(const std::vector<float>& x) {
  const std::vector<float> y = Refined(x), expected = Divided(x);
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(y[i]) && std::isnan(expected[i])) continue;
    if (std::bit_cast<uint32_t>(y[i]) != std::bit_cast<uint32_t>(expected[i])) return false;
  }
  return true;
}

// The exponents at the ends are those whose numbers, or their reciprocals, are next to denormal
// ones.
TEST(ReciprocalTest, EveryMantissaIsRoundedAsByADivision) {
  constexpr uint32_t kBlock = 1 << 16;
  for (const uint32_t exponent : {1u, 127u, 252u, 253u}) {
    for (uint32_t first = 0; first < 1u << 23; first += kBlock) {
      // Each number twice, since half of the vectors are divided.
      std::vector<float> x;
      for (uint32_t i = 0; i < kBlock; i += 8) {
        for (uint32_t twice = 0; twice < 2; ++twice) {
          for (uint32_t j = i; j < i + 8; ++j) {
            x.push_back(std::bit_cast<float>(exponent << 23 | (first + j)));
          }
        }
      }
      ASSERT_TRUE(AreDivided(x)) << exponent << " " << first;
    }
  }
}

TEST(ReciprocalTest, EveryExponentAndSpecialNumbersToo) {
  std::vector<float> x;
  for (uint32_t high = 0; high < 1u << 16; ++high) {
    for (const uint32_t low : {0u, 0xffffu}) {
      x.insert(x.end(), 16, std::bit_cast<float>(high << 16 | low));
    }
  }
  EXPECT_TRUE(AreDivided(x));
}

TEST(ReciprocalTest, AnyNumberOfElementsIsComputed) {
  for (size_t count = 0; count < 70; ++count) {
    std::vector<float> x(count, 4);
    if (count > 0) x.back() = 0;
    std::vector<float> expected(count, 0.25);
    if (count > 0) expected.back() = std::numeric_limits<float>::infinity();
    EXPECT_EQ(Refined(x), expected) << count;
  }
}

}  // namespace
}  // namespace tessera

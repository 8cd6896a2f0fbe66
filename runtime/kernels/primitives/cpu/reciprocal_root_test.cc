#include "runtime/kernels/primitives/cpu/reciprocal_root.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

std::vector<float> Divided(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) y[i] = 1 / std::sqrt(x[i]);
  return y;
}

std::vector<float> Roots(const std::vector<float>& x) {
  std::vector<float> y(x.size());
  ReciprocalRoots(x.data(), static_cast<int64_t>(x.size()), y.data());
  return y;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Roots of numbers with the mantissa m depend on whether the exponent is even.
TEST(ReciprocalRootTest, EveryMantissaIsRoundedAsByADivision) {
  constexpr uint32_t kBlock = 1 << 16;
  for (const uint32_t exponent : {127u, 128u}) {
    for (uint32_t first = 0; first < 1u << 23; first += kBlock) {
      std::vector<float> x(kBlock);
      for (uint32_t i = 0; i < kBlock; ++i)
        x[i] = std::bit_cast<float>(exponent << 23 | (first + i));
      ASSERT_TRUE(SameBits(Roots(x), Divided(x))) << exponent << " " << first;
    }
  }
}

TEST(ReciprocalRootTest, EveryExponentAndSpecialNumbersToo) {
  std::vector<float> x;
  for (uint32_t high = 0; high < 1u << 16; ++high) {
    x.push_back(std::bit_cast<float>(high << 16));
    x.push_back(std::bit_cast<float>(high << 16 | 0xffff));
  }
  EXPECT_TRUE(SameBits(Roots(x), Divided(x)));
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

#include "runtime/kernels/cpu/softmax_avx512.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class SoftmaxAvx512Test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!__builtin_cpu_supports("avx512vl")) GTEST_SKIP() << "needs AVX-512";
  }
};

std::vector<float> Softmax(std::vector<float> x) {
  SoftmaxRowAvx512(x.data(), x.size(), x.data());
  return x;
}

TEST_F(SoftmaxAvx512Test, SharesOneOutByExponentials) {
  for (const int count : {1, 2, 15, 16, 17, 31, 33, 128, 1000}) {
    std::vector<float> x(count);
    for (int i = 0; i < count; ++i) x[i] = static_cast<float>(i * 37 % 101) * 0.75f - 50;
    x[count / 2] = 30;
    double sum = 0;
    std::vector<double> expected(count);
    for (int i = 0; i < count; ++i) sum += expected[i] = std::exp(static_cast<double>(x[i]));
    const std::vector<float> shares = Softmax(x);
    for (int i = 0; i < count; ++i) {
      ASSERT_NEAR(shares[i], expected[i] / sum, 1e-6 * expected[i] / sum + 1e-30)
          << i << " of " << count;
    }
  }
}

TEST_F(SoftmaxAvx512Test, SpreadsANaN) {
  for (const int at : {0, 5, 18}) {
    std::vector<float> scores(19, 1.0f);
    scores[at] = kNan;
    for (const float share : Softmax(scores)) EXPECT_TRUE(std::isnan(share));
  }
}

TEST_F(SoftmaxAvx512Test, OfInfinities) {
  const std::vector<float> shares = Softmax({1, -kInfinity, 1});
  EXPECT_EQ(shares, (std::vector<float>{0.5f, 0, 0.5f}));
  // No score is left, or one beyond all: what TensorFlow's softmax has no number for either.
  for (const float share : Softmax({-kInfinity, -kInfinity})) EXPECT_TRUE(std::isnan(share));
  EXPECT_TRUE(std::isnan(Softmax({kInfinity, 0})[0]));
}

TEST_F(SoftmaxAvx512Test, OfNothing) { EXPECT_TRUE(Softmax({}).empty()); }

}  // namespace
}  // namespace tessera

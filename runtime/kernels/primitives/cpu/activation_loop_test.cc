#include "runtime/kernels/primitives/cpu/activation_loop.h"

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kAlpha = 0.25f;

// The parameters are the activation, and whether its loop is that for AVX-512.
class ActivationLoopTest : public ::testing::TestWithParam<std::tuple<Activation, bool>> {
 protected:
  void SetUp() override {
    if (IsForAvx512() && !HasAvx512()) GTEST_SKIP() << "needs AVX-512";
  }

  static Activation activation() { return std::get<0>(GetParam()); }
  static bool IsForAvx512() { return std::get<1>(GetParam()); }
  static void Activate(float* values, int64_t count) {
    const auto loop_of = IsForAvx512() ? avx512::ActivationLoopOf : avx2::ActivationLoopOf;
    loop_of(activation())(kAlpha, values, count);
  }

  static std::vector<float> Activated(std::vector<float> values) {
    Activate(values.data(), values.size());
    return values;
  }
};

TEST_P(ActivationLoopTest, IsWithinAFewUnitsInTheLastPlace) {
  std::vector<float> values;
  for (double x = -100; x <= 100; x += 0.00390625 * 1.0009765625) {
    values.push_back(static_cast<float>(x));
  }
  for (double x = 1e-6; x < 1; x *= 1.0625) {
    values.push_back(static_cast<float>(x));
    values.push_back(static_cast<float>(-x));
  }
  const std::vector<float> results = Activated(values);
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = values[i], expected = Apply(activation(), kAlpha, x);
    // For arguments far below 0, a GELU is a small difference of rounded numbers.
    const bool is_gelu =
        activation() == Activation::kGeluErf || activation() == Activation::kGeluTanh;
    const double units = is_gelu && x < 0 ? 16 + 8 * x * x : 14;
    // Apply() adds 1 to a hyperbolic tangent.
    const double cancelled = activation() == Activation::kGeluTanh ? 1e-15 : 2e-36;
    const double tolerance = units * 0x1p-24 * std::abs(expected) + cancelled;
    ASSERT_NEAR(results[i], expected, tolerance) << "of " << x;
  }
}

TEST_P(ActivationLoopTest, TakesInfinitiesNaNsAndZeros) {
  for (const float x : {kInfinity, -kInfinity, kNaN, 0.0f, 1e30f, -1e30f}) {
    const float result = Activated({x})[0];
    const double expected = Apply(activation(), kAlpha, x);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(result)) << "of " << x;
    } else {
      EXPECT_FLOAT_EQ(result, static_cast<float>(expected)) << "of " << x;
    }
  }
}

TEST_P(ActivationLoopTest, LeavesWhatIsBehindTheLastValueAlone) {
  for (size_t count : {0, 1, 15, 16, 17, 40}) {
    std::vector<float> values(64, 0.5f);
    Activate(values.data(), count);
    const float expected = static_cast<float>(Apply(activation(), kAlpha, 0.5));
    for (size_t i = 0; i < values.size(); ++i) {
      if (i < count) {
        EXPECT_FLOAT_EQ(values[i], expected) << "at " << i << " of " << count;
      } else {
        EXPECT_EQ(values[i], 0.5f) << "at " << i << " of " << count;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ActivationLoopTest,
    ::testing::Combine(::testing::Values(Activation::kElu, Activation::kLeakyRelu,
                                         Activation::kTanh, Activation::kSigmoid,
                                         Activation::kSwish, Activation::kGeluErf,
                                         Activation::kGeluTanh),
                       ::testing::Bool()));

TEST(ActivationLoopOfTest, ClampsHaveNone) {
  for (const Activation clamp : {Activation::kNone, Activation::kRelu, Activation::kRelu6}) {
    EXPECT_EQ(ActivationLoopOf(clamp), nullptr);
  }
}

}  // namespace
}  // namespace tessera

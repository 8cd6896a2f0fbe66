#include "runtime/kernels/primitives/cpu/winograd_transform.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/testing/random_floats.h"

namespace tessera::winograd {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kIn = 48, kOut = 32;
// Distances from one point to the next, with floats between them that must not change.
constexpr int64_t kInStride = kIn + 5, kOutStride = kOut + 3;

// The parameters are whether the transforms are those for AVX-512, and the size of the output tile.
class WinogradTransformTest : public ::testing::TestWithParam<std::tuple<bool, int>> {
 protected:
  WinogradTransformTest()
      : input_(RandomFloats(t().points() * kIn, 1, 0)),
        filter_(RandomFloats(9 * kIn * kOut, 2, 0)),
        bias_(RandomFloats(kOut, 3, 0)),
        output_(RandomFloats(outputs() * kOut, 4, 0)),
        products_(t().points() * kOutStride) {}

  void SetUp() override {
    if (std::get<0>(GetParam()) && !HasAvx512()) GTEST_SKIP() << "needs AVX-512";
  }

  static const Transforms& t() {
    const auto [for_avx512, output_tile] = GetParam();
    if (for_avx512) return output_tile == 2 ? avx512::kTransformsOf2 : avx512::kTransformsOf4;
    return output_tile == 2 ? avx2::kTransformsOf2 : avx2::kTransformsOf4;
  }
  static int outputs() { return t().output_tile * t().output_tile; }

  // Sets products_ to the products of the transformed tile and filter.
  void Multiply() {
    std::vector<float> tile(t().points() * kInStride, -77), matrix(kIn * kOut);
    std::vector<const float*> points;
    for (int p = 0; p < t().points(); ++p) points.push_back(input_.data() + p * kIn);
    t().input(points.data(), kIn, kInStride, tile.data());
    for (int p = 0; p < t().points(); ++p) {
      t().filter(filter_.data(), p, kIn, kOut, matrix.data());
      for (int64_t o = 0; o < kOut; ++o) {
        double sum = 0;
        for (int64_t c = 0; c < kIn; ++c) {
          sum += static_cast<double>(tile[p * kInStride + c]) * matrix[c * kOut + o];
        }
        products_[p * kOutStride + o] = static_cast<float>(sum);
      }
      for (int64_t c = kIn; c < kInStride; ++c) EXPECT_EQ(tile[p * kInStride + c], -77);
    }
  }

  // Transforms the products into output_, except for the outputs in `left_out`.
  bool TransformOutput(const Epilogue& epilogue, int left_out = -1) {
    std::vector<float*> points;
    for (int i = 0; i < outputs(); ++i) {
      points.push_back(i == left_out ? nullptr : output_.data() + i * kOut);
    }
    return t().output(products_.data(), kOutStride, kOut, epilogue, points.data());
  }

  // Returns output channel `o` of output `i` of a direct convolution.
  double Direct(int i, int64_t o) const {
    double sum = 0;
    for (int position = 0; position < 9; ++position) {
      const int row = i / t().output_tile + position / 3;
      const int column = i % t().output_tile + position % 3;
      for (int64_t c = 0; c < kIn; ++c) {
        sum += static_cast<double>(input_[(row * t().input_tile + column) * kIn + c]) *
               filter_[(position * kIn + c) * kOut + o];
      }
    }
    return sum;
  }

  std::vector<float> input_, filter_, bias_, output_, products_;
};

TEST_P(WinogradTransformTest, ATileIsThatOfADirectConvolution) {
  Multiply();
  const std::vector<float> before = output_;
  const float low = -10, high = 25;
  ASSERT_TRUE(TransformOutput({.bias = bias_.data(), .add = true, .low = low, .high = high}, 1));
  for (int i = 0; i < outputs(); ++i) {
    for (int64_t o = 0; o < kOut; ++o) {
      const float addend = before[i * kOut + o];
      const double sum = Direct(i, o) + bias_[o] + addend;
      const double expected = i == 1 ? addend : std::clamp<double>(sum, low, high);
      ASSERT_NEAR(output_[i * kOut + o], expected, 5e-5) << i << ", " << o;
    }
  }
}

TEST_P(WinogradTransformTest, NonFiniteProductsAreRefused) {
  const Epilogue epilogue{.low = -kInfinity, .high = kInfinity};
  for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
    for (int p = 0; p < t().points(); ++p) {
      Multiply();
      ASSERT_TRUE(TransformOutput(epilogue));
      const std::vector<float> before = output_;
      for (int64_t o = 0; o < kOut; ++o) products_[p * kOutStride + o] = bad;
      EXPECT_FALSE(TransformOutput(epilogue)) << "point " << p;
      EXPECT_EQ(output_, before);
    }
  }
}

// A product overflows in one channel alone, which may be any of the first 16.
TEST_P(WinogradTransformTest, TheFirstSixteenChannelsAreChecked) {
  for (int64_t o = 0; o < 16; ++o) {
    std::fill(products_.begin(), products_.end(), 1.0f);
    products_[3 * kOutStride + o] = kInfinity;
    EXPECT_FALSE(TransformOutput({.low = -kInfinity, .high = kInfinity})) << "channel " << o;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WinogradTransformTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(2, 4)));

}  // namespace
}  // namespace tessera::winograd

#include "runtime/kernels/primitives/cpu/layer_norm_rows.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/testing/random_floats.h"

namespace tessera {
namespace {

// The parameter selects AVX-512.
class LayerNormRowsTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !HasAvx512()) GTEST_SKIP() << "needs AVX-512";
  }
  static void Normalise(const LayerNormRows& rows) {
    GetParam() ? avx512::Normalise(rows) : avx2::Normalise(rows);
  }

  // Checks three rows of numbers about `mean`. The guards before and after them must not change.
  static void ExpectExact(int64_t columns, float mean, bool adds, bool in_place) {
    SCOPED_TRACE(testing::Message() << columns << " columns about " << mean << ", adds " << adds
                                    << ", in place " << in_place);
    constexpr int64_t kRows = 3;
    constexpr float kEpsilon = 1e-3f;
    const int64_t size = kRows * columns;
    std::vector<float> x = RandomFloats(size, 1, mean), y(size + 1, -77);
    const auto addend = RandomFloats(size, 2, 0), gamma = RandomFloats(columns, 3, 1);
    const auto beta = RandomFloats(columns, 4, 0);
    std::vector<double> z(x.begin(), x.end());
    for (int64_t i = 0; adds && i < size; ++i) z[i] = x[i] + addend[i];
    x.push_back(-77);
    std::vector<float>& out = in_place ? x : y;
    Normalise({.rows = kRows,
               .columns = columns,
               .x = x.data(),
               .addend = adds ? addend.data() : nullptr,
               .gamma = gamma.data(),
               .beta = beta.data(),
               .epsilon = kEpsilon,
               .y = out.data()});
    for (int64_t row = 0; row < kRows; ++row) {
      const double* const values = z.data() + row * columns;
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < columns; ++i) sum += values[i];
      for (int64_t i = 0; i < columns; ++i) squares += std::pow(values[i] - sum / columns, 2);
      const double scale = 1 / std::sqrt(squares / columns + kEpsilon);
      for (int64_t i = 0; i < columns; ++i) {
        const double expected = (values[i] - sum / columns) * scale * gamma[i] + beta[i];
        // The rounded numbers are about as large as the mean.
        ASSERT_NEAR(out[row * columns + i], expected, 1e-5 * (1 + std::fabs(mean)))
            << row << ", " << i;
      }
    }
    EXPECT_EQ(out[size], -77);
  }
};

TEST_P(LayerNormRowsTest, AreExactForAnyNumberOfColumns) {
  for (const int64_t columns : {1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 768, 5000}) {
    for (const bool adds : {false, true}) {
      for (const bool in_place : {false, true}) ExpectExact(columns, 0, adds, in_place);
    }
  }
}

// The mean must be subtracted before squares are added, or the variance would lose all digits.
TEST_P(LayerNormRowsTest, KeepTheirDigitsFarFromZero) { ExpectExact(768, 300, true, true); }

TEST_P(LayerNormRowsTest, ANaNStaysInItsRow) {
  for (const int64_t at : {0, 20, 69}) {
    std::vector<float> x = RandomFloats(3 * 70, 1, 0), ones(70, 1.0f);
    x[70 + at] = std::numeric_limits<float>::quiet_NaN();
    Normalise({.rows = 3,
               .columns = 70,
               .x = x.data(),
               .gamma = ones.data(),
               .beta = ones.data(),
               .epsilon = 1e-3f,
               .y = x.data()});
    for (int64_t i = 0; i < 3 * 70; ++i) EXPECT_EQ(std::isnan(x[i]), i / 70 == 1) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, LayerNormRowsTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Avx512" : "Avx2"; });

}  // namespace
}  // namespace tessera

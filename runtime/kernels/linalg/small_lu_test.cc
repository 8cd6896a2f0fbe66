#include "runtime/kernels/linalg/small_lu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/linalg/testing/normal_numbers.h"

namespace tessera {
namespace {

template <typename T>
using SmallLuTest = NormalNumbersTest<T>;
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SmallLuTest, Types);

// Element (i, j) of the product of the factors.
template <typename T>
double Product(const std::vector<T>& factors, int64_t n, int64_t i, int64_t j) {
  double sum = i <= j ? factors[i * n + j] : 0;
  for (int64_t k = 0; k < i && k <= j; ++k) {
    sum += static_cast<double>(factors[i * n + k]) * factors[k * n + j];
  }
  return sum;
}

TYPED_TEST(SmallLuTest, ProductOfTheFactorsIsTheMatrixInTheirOrder) {
  for (int64_t n : {1, 2, 3, 4, 5, 7, 8, 17, 31, 64, 127, 128}) {
    const std::vector<TypeParam> matrix = this->Numbers(n * n);
    std::vector<TypeParam> factors = matrix;
    std::vector<int64_t> order(n);
    SmallLu(n, factors.data(), order.data());

    std::vector<int64_t> rows = order;
    std::sort(rows.begin(), rows.end());
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(rows[i], i) << n;
      for (int64_t j = 0; j < n; ++j) {
        ASSERT_NEAR(Product(factors, n, i, j), matrix[order[i] * n + j], 16 * n * this->kEpsilon)
            << n << ": " << i << ", " << j;
        if (j < i) {
          ASSERT_LE(std::abs(factors[i * n + j]), 1) << n << ": " << i << ", " << j;
        }
      }
    }
  }
}

TYPED_TEST(SmallLuTest, FirstOfEqualMagnitudesIsThePivot) {
  std::vector<TypeParam> matrix = {1,  2, 3,  //
                                   -2, 1, 0,  //
                                   2,  5, 4};
  std::vector<int64_t> order(3);
  SmallLu(3, matrix.data(), order.data());
  EXPECT_EQ(order, (std::vector<int64_t>{1, 2, 0}));
  EXPECT_EQ(matrix[0], -2);
}

TYPED_TEST(SmallLuTest, ZeroPivotStaysOnTheDiagonal) {
  // The third column is the sum of the first two, exactly.
  std::vector<TypeParam> matrix = {4, 0, 4, 1,  //
                                   2, 2, 4, 0,  //
                                   1, 1, 2, 3,  //
                                   0, 1, 1, 0};
  std::vector<int64_t> order(4);
  SmallLu(4, matrix.data(), order.data());
  EXPECT_EQ(matrix[2 * 4 + 2], 0);
  for (TypeParam element : matrix) EXPECT_TRUE(std::isfinite(element));
}

TYPED_TEST(SmallLuTest, NanSpreadsToTheDiagonal) {
  std::vector<TypeParam> matrix(25, 1);
  for (int i = 0; i < 5; ++i) matrix[6 * i] = 4;
  matrix[5 * 3 + 1] = std::numeric_limits<TypeParam>::quiet_NaN();
  std::vector<int64_t> order(5);
  SmallLu(5, matrix.data(), order.data());
  EXPECT_TRUE(std::isnan(matrix[24]));
}

}  // namespace
}  // namespace tessera

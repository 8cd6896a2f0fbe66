#include "runtime/kernels/linalg/small_triangles.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/linalg/testing/normal_numbers.h"

namespace tessera {
namespace {

template <typename T>
class SmallTrianglesTest : public NormalNumbersTest<T> {
 protected:
  // A product of a matrix and its transpose, with `diagonal` added.
  std::vector<T> Symmetric(int64_t n, T diagonal) {
    const std::vector<T> factor = this->Numbers(n * n);
    std::vector<T> product(n * n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        T sum = i == j ? diagonal : 0;
        for (int64_t k = 0; k < n; ++k) sum += factor[i * n + k] * factor[j * n + k];
        product[i * n + j] = sum;
      }
    }
    return product;
  }
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SmallTrianglesTest, Types);

TYPED_TEST(SmallTrianglesTest, FactorsMultiplyToTheMatrix) {
  using T = TypeParam;
  for (const int64_t n : {0, 1, 2, 3, 8, 17, 64, 128}) {
    const std::vector<T> matrix = this->Symmetric(n, 1);
    std::vector<T> factor = matrix;
    ASSERT_TRUE(SmallCholesky(n, factor.data()));
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (int64_t k = 0; k <= j; ++k) sum += double{factor[i * n + k]} * factor[j * n + k];
        ASSERT_NEAR(sum, matrix[i * n + j], 10 * this->kEpsilon * static_cast<double>(n + 1) * n)
            << n << ": " << i << ", " << j;
      }
      for (int64_t j = i + 1; j < n; ++j) ASSERT_EQ(factor[i * n + j], matrix[i * n + j]);
    }
  }
}

TYPED_TEST(SmallTrianglesTest, MatricesThatAreNotPositiveDefiniteHaveNoFactor) {
  using T = TypeParam;
  std::vector<T> zero = {0}, indefinite = {1, 2, 2, 1};
  EXPECT_FALSE(SmallCholesky(1, zero.data()));
  EXPECT_FALSE(SmallCholesky(2, indefinite.data()));
  std::vector<T> nan = {std::numeric_limits<T>::quiet_NaN(), 0, 1, 1};
  EXPECT_TRUE(SmallCholesky(2, nan.data()));
  EXPECT_TRUE(std::isnan(nan[0]) && std::isnan(nan[2]) && std::isnan(nan[3]));
}

TYPED_TEST(SmallTrianglesTest, SolutionsMultiplyToTheRightHandSides) {
  using T = TypeParam;
  for (const int64_t n : {1, 2, 3, 4, 5, 11, 64, 128}) {
    std::vector<T> matrix = this->Numbers(n * n);
    for (T& element : matrix) element *= T{0.05};
    for (int64_t i = 0; i < n; ++i) matrix[i * n + i] = T{1.5} + matrix[i * n + i];
    for (const int64_t columns : {1, 7, 16, 17, 40}) {
      for (const bool lower : {false, true}) {
        for (const bool adjoint : {false, true}) {
          const std::vector<T> sides = this->Numbers(n * columns);
          std::vector<T> solutions = sides;
          SolveSmallTriangle<T>({matrix.data(), n, lower, adjoint}, columns, solutions.data());
          for (int64_t i = 0; i < n; ++i) {
            for (int64_t c = 0; c < columns; ++c) {
              double sum = 0;
              for (int64_t j = 0; j < n; ++j) {
                const int64_t row = adjoint ? j : i, column = adjoint ? i : j;
                if (lower ? column > row : column < row) continue;
                sum += double{matrix[row * n + column]} * solutions[j * columns + c];
              }
              ASSERT_NEAR(sum, sides[i * columns + c], 100 * this->kEpsilon)
                  << n << "x" << columns << ", lower " << lower << ", adjoint " << adjoint;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera

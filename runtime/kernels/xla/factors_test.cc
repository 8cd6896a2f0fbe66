#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

std::vector<Tensor> Svd(const Tensor& a) {
  const AttrMap attrs = {
      {"max_iter", int64_t{100}}, {"epsilon", 1e-6f}, {"precision_config", std::string()}};
  KernelRunner runner = KernelRunner::Create("XlaSvd", {a}, attrs).value();
  return runner.Run({a}).value();
}

// Expects the columns of a square matrix to be orthogonal to each other and of length 1.
void ExpectOrthogonal(const Tensor& matrix) {
  const int64_t n = matrix.dim(0);
  ASSERT_EQ(matrix.shape(), (Shape{n, n}));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float product = 0;
      for (int64_t r = 0; r < n; ++r) {
        product += matrix.data<float>()[r * n + i] * matrix.data<float>()[r * n + j];
      }
      EXPECT_NEAR(product, i == j ? 1 : 0, 1e-5) << i << " " << j;
    }
  }
}

void ExpectFactors(const Tensor& a) {
  const std::vector<Tensor> factors = Svd(a);
  const Tensor &s = factors[0], &u = factors[1], &v = factors[2];
  const int64_t rows = a.dim(0), columns = a.dim(1);
  ExpectOrthogonal(u);
  ExpectOrthogonal(v);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      float sum = 0;
      for (int64_t k = 0; k < s.dim(0); ++k) {
        sum +=
            u.data<float>()[r * rows + k] * s.data<float>()[k] * v.data<float>()[c * columns + k];
      }
      EXPECT_NEAR(sum, a.data<float>()[r * columns + c], 1e-5) << r << " " << c;
    }
  }
}

TEST(XlaSvdTest, VectorsFillSquareMatrices) {
  ExpectFactors(Tensor::Of<float>({3, 2}, {1, 2, -3, 4, 5, 0.5f}));
  ExpectFactors(Tensor::Of<float>({2, 3}, {1, 2, -3, 4, 5, 0.5f}));
  ExpectFactors(Tensor::Of<float>({1, 3}, {1, 2, 2}));
  ExpectFactors(Tensor::Of<float>({3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(XlaSvdTest, AMatrixWithoutRowsHasABasisOfItsColumns) {
  const std::vector<Tensor> factors = Svd(Tensor::Of<float>({0, 3}, {}));
  EXPECT_EQ(factors[0].shape(), Shape{0});
  EXPECT_EQ(factors[1].shape(), (Shape{0, 0}));
  ExpectOrthogonal(factors[2]);
}

TEST(XlaSvdTest, AMatrixThatIsNotFiniteHasNone) {
  const std::vector<Tensor> factors = Svd(Tensor::Of<float>({2, 1}, {1, NAN}));
  for (const Tensor& factor : factors) {
    for (const float element : factor.flat<float>()) EXPECT_TRUE(std::isnan(element));
  }
  EXPECT_EQ(factors[1].shape(), (Shape{2, 2}));
}

std::vector<Tensor> SelfAdjointEig(const Tensor& a, bool lower) {
  const AttrMap attrs = {{"lower", lower}, {"max_iter", int64_t{100}}, {"epsilon", 1e-6f}};
  KernelRunner runner = KernelRunner::Create("XlaSelfAdjointEig", {a}, attrs).value();
  return runner.Run({a}).value();
}

TEST(XlaSelfAdjointEigTest, AMatrixThatIsNotFiniteHasNone) {
  for (const float number : {NAN, INFINITY}) {
    // The number stands in the lower triangle of the first matrix.
    const Tensor a = Tensor::Of<float>({2, 3, 3}, {1, 0, 0, 0, 2, 0, number, 0, 3,  //
                                                   4, 0, 0, 0, 5, 0, 0, 0, 6});
    const std::vector<Tensor> lower = SelfAdjointEig(a, true);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(std::isnan(lower[0].data<float>()[i]));
      EXPECT_FLOAT_EQ(lower[0].data<float>()[3 + i], static_cast<float>(4 + i));
    }
    for (int i = 0; i < 9; ++i) EXPECT_TRUE(std::isnan(lower[1].data<float>()[i]));
    EXPECT_FLOAT_EQ(SelfAdjointEig(a, false)[0].data<float>()[0], 1);
  }
}

}  // namespace
}  // namespace tessera

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/linalg/testing/random_matrices.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using Complex = std::complex<double>;

std::vector<Tensor> Geev(const Tensor& a) {
  const AttrMap attrs = {
      {"compute_left", true}, {"compute_right", true}, {"Tout", DType::kComplex128}};
  return KernelRunner::Create("_LapackGeev", {a}, attrs).value().Run({a}).value();
}

std::vector<Tensor> Gees(const Tensor& a) {
  return KernelRunner::Create("_LapackGees", {a}, {{"Tout", DType::kComplex128}})
      .value()
      .Run({a})
      .value();
}

template <typename C>
void ExpectEigenvectors(const Tensor& a) {
  const std::vector<Tensor> outputs = Geev(a);
  for (int64_t i = 0; i < a.dim(0); ++i) {
    const Matrix<Complex> matrix = MatrixAt<C>(a, i).template cast<Complex>();
    const Matrix<Complex> left = MatrixAt<Complex>(outputs[1], i);
    const Matrix<Complex> right = MatrixAt<Complex>(outputs[2], i);
    const Matrix<Complex> vector = VectorAt<Complex>(outputs[0], i);
    const auto values = vector.col(0).asDiagonal();
    EXPECT_LT((matrix * right - right * values).norm(), 1e-10);
    EXPECT_LT((left.adjoint() * matrix - values * left.adjoint()).norm(), 1e-10);
    for (int64_t k = 0; k < matrix.rows(); ++k) {
      EXPECT_NEAR(left.col(k).norm(), 1, 1e-12);
      EXPECT_NEAR(right.col(k).norm(), 1, 1e-12);
    }
  }
}

TEST(LapackGeevTest, VectorsOfBothSidesBelongToTheValues) {
  for (int64_t n : {1, 2, 3, 8, 25}) {
    ExpectEigenvectors<double>(RandomMatrices<double>(3, n, n));
    ExpectEigenvectors<Complex>(RandomMatrices<Complex>(3, n, n));
  }
}

TEST(LapackGeevTest, ARealMatrixHasConjugatePairs) {
  const std::vector<Tensor> outputs =
      Geev(Tensor::Of<double>({3, 3}, {2, 0, 0, 0, 1, -4, 0, 1, 1}));
  const Complex* const values = outputs[0].data<Complex>();
  EXPECT_EQ(values[0], Complex(2, 0));
  EXPECT_LT(std::abs(values[1] - Complex(1, 2)), 1e-12);
  EXPECT_EQ(values[2], std::conj(values[1]));
  const Matrix<Complex> right = MatrixAt<Complex>(outputs[2], 0);
  EXPECT_EQ(right.col(0).imag().norm(), 0);
  EXPECT_EQ((right.col(1) - right.col(2).conjugate()).norm(), 0);
  EXPECT_EQ(right(1, 1).imag(), 0);  // the largest number
  EXPECT_GT(right(1, 1).real(), 0);
}

TEST(LapackGeevTest, MatricesThatLackEigenvectorsHaveFiniteOnes) {
  constexpr int64_t kSize = 40;
  Tensor a = Tensor::Zeros(DType::kDouble, {kSize, kSize}).value();
  for (int64_t i = 0; i + 1 < kSize; ++i) a.data<double>()[i * kSize + i + 1] = 1;
  const std::vector<Tensor> outputs = Geev(a);
  EXPECT_TRUE(MatrixAt<Complex>(outputs[1], 0).allFinite());
  EXPECT_TRUE(MatrixAt<Complex>(outputs[2], 0).allFinite());
}

TEST(LapackGeevTest, AMatrixThatIsNotFiniteHasNone) {
  for (const double number : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const Tensor a = Tensor::Of<double>({2, 2, 2}, {1, number, 0, 1, 3, 0, 0, 4});
    for (const Tensor& output : Geev(a)) {
      const auto numbers = output.flat<Complex>();
      for (size_t i = 0; i < numbers.size(); ++i) {
        EXPECT_EQ(std::isnan(numbers[i].real()), i < numbers.size() / 2);
      }
    }
    EXPECT_TRUE(std::isnan(Gees(a)[0].data<double>()[0]));
    EXPECT_EQ(Gees(a)[0].data<double>()[4], 3);
  }
}

TEST(LapackGeevTest, VectorsThatNobodyAskedForAreZero) {
  const Tensor a = Tensor::Of<float>({2, 2}, {1, 2, 3, 4});
  const AttrMap attrs = {
      {"compute_left", false}, {"compute_right", false}, {"Tout", DType::kComplex64}};
  const std::vector<Tensor> outputs =
      KernelRunner::Create("_LapackGeev", {a}, attrs).value().Run({a}).value();
  for (const int output : {1, 2}) {
    for (const std::complex<float>& number : outputs[output].flat<std::complex<float>>()) {
      EXPECT_EQ(number, std::complex<float>(0));
    }
  }
}

TEST(LapackGeesTest, RealBlocksHaveLapacksStandardForm) {
  for (int64_t n : {1, 2, 3, 8, 25}) {
    const Tensor a = RandomMatrices<double>(2, n, n);
    const std::vector<Tensor> outputs = Gees(a);
    for (int64_t i = 0; i < 2; ++i) {
      const Matrix<double> t = MatrixAt<double>(outputs[0], i);
      const Matrix<double> u = MatrixAt<double>(outputs[1], i);
      const Matrix<Complex> values = VectorAt<Complex>(outputs[2], i);
      EXPECT_LT((u * t * u.transpose() - MatrixAt<double>(a, i)).norm(), 1e-11);
      EXPECT_LT((u * u.transpose() - Matrix<double>::Identity(n, n)).norm(), 1e-12);
      for (int64_t k = 0; k < n; ++k) {
        EXPECT_NEAR(values(k).real(), t(k, k), 1e-12);
        EXPECT_EQ(t.col(k).tail(std::max<int64_t>(n - k - 2, 0)).norm(), 0);
        if (k + 1 == n || t(k + 1, k) == 0) continue;
        EXPECT_EQ(t(k, k), t(k + 1, k + 1));
        EXPECT_LT(t(k, k + 1) * t(k + 1, k), 0);
      }
    }
  }
}

TEST(LapackGeesTest, ComplexFormsAreTriangles) {
  const Tensor a = RandomMatrices<Complex>(1, 12, 12);
  const std::vector<Tensor> outputs = Gees(a);
  const Matrix<Complex> t = MatrixAt<Complex>(outputs[0], 0);
  const Matrix<Complex> u = MatrixAt<Complex>(outputs[1], 0);
  EXPECT_LT((u * t * u.adjoint() - MatrixAt<Complex>(a, 0)).norm(), 1e-11);
  EXPECT_EQ(Matrix<Complex>(t.triangularView<Eigen::StrictlyLower>()).norm(), 0);
  EXPECT_EQ((t.diagonal() - VectorAt<Complex>(outputs[2], 0)).norm(), 0);
}

}  // namespace
}  // namespace tessera

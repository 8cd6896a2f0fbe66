#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/linalg/testing/random_matrices.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

std::vector<Tensor> Getrf(const Tensor& a) {
  return KernelRunner::Create("_LapackGetrf", {a}).value().Run({a}).value();
}

// Expects the product of the factors to be the matrices with exchanged rows.
template <typename C>
void ExpectFactors(int64_t rows, int64_t columns) {
  const Tensor a = RandomMatrices<C>(2, rows, columns);
  const std::vector<Tensor> outputs = Getrf(a);
  const int64_t least = std::min(rows, columns);
  ASSERT_EQ(outputs[1].shape(), (Shape{2, least}));
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(outputs[2].data<int32_t>()[i], 0);
    Matrix<C> exchanged = MatrixAt<C>(a, i);
    for (int64_t k = 0; k < least; ++k) {
      const int64_t pivot = outputs[1].data<int32_t>()[i * least + k] - 1;
      ASSERT_GE(pivot, k);
      exchanged.row(k).swap(exchanged.row(pivot));
    }
    const Matrix<C> packed = MatrixAt<C>(outputs[0], i);
    Matrix<C> lower = packed.leftCols(least);
    lower.template triangularView<Eigen::StrictlyUpper>().setZero();
    lower.diagonal().setOnes();
    const Matrix<C> upper = packed.topRows(least).template triangularView<Eigen::Upper>();
    EXPECT_LT((lower * upper - exchanged).norm(), 1e-11) << rows << " " << columns;
  }
}

TEST(LapackGetrfTest, FactorsMatricesOfAnySize) {
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {5, 5}, {7, 3}, {3, 7}, {70, 70}, {100, 40}, {40, 100}, {33, 32}}) {
    ExpectFactors<double>(rows, columns);
    ExpectFactors<std::complex<double>>(rows, columns);
  }
}

// LAPACK's own answer for this matrix.
TEST(LapackGetrfTest, NamesTheFirstPivotThatIsZero) {
  const std::vector<Tensor> outputs = Getrf(Tensor::Of<float>({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8}));
  const std::vector<float> expected = {6, 7, 8, 0, 1, 2, 0.5f, 0.5f, 0};
  for (int i = 0; i < 9; ++i) EXPECT_EQ(outputs[0].data<float>()[i], expected[i]) << i;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(outputs[1].data<int32_t>()[i], 3) << i;
  EXPECT_EQ(outputs[2].shape(), Shape{});
  EXPECT_EQ(outputs[2].data<int32_t>()[0], 3);

  const std::vector<Tensor> of_zeros = Getrf(Tensor::Zeros(DType::kFloat, {2, 2}).value());
  EXPECT_EQ(of_zeros[1].data<int32_t>()[0], 1);
  EXPECT_EQ(of_zeros[1].data<int32_t>()[1], 2);
  EXPECT_EQ(of_zeros[2].data<int32_t>()[0], 1);
}

// The modulus of 4 + 4i is less than 6.
TEST(LapackGetrfTest, ChoosesComplexPivotsByTheSumOfTheirParts) {
  using C = std::complex<float>;
  const std::vector<Tensor> outputs = Getrf(Tensor::Of<C>({2, 1}, {C(6, 0), C(4, 4)}));
  EXPECT_EQ(outputs[1].data<int32_t>()[0], 2);
}

TEST(LapackGetrfTest, TakesMatricesWithoutElementsAndNaN) {
  const std::vector<Tensor> of_none = Getrf(Tensor::Of<float>({2, 0, 3}, {}));
  EXPECT_EQ(of_none[1].shape(), (Shape{2, 0}));
  EXPECT_EQ(of_none[2].data<int32_t>()[0], 0);
  EXPECT_EQ(of_none[2].data<int32_t>()[1], 0);
  const std::vector<Tensor> of_nan = Getrf(Tensor::Of<float>({2, 2}, {NAN, 1, 2, 3}));
  EXPECT_TRUE(std::isnan(of_nan[0].data<float>()[3]));
}

TEST(LapackGetrfTest, RefusesVectors) {
  const Tensor vector = Tensor::Of<float>({3}, {1, 2, 3});
  KernelRunner runner = KernelRunner::Create("_LapackGetrf", {vector}).value();
  EXPECT_EQ(runner.Run({vector}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera

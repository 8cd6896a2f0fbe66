#include <algorithm>
#include <complex>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/linalg/testing/random_matrices.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using Complex = std::complex<double>;

std::vector<Tensor> Reduce(absl::string_view op, const Tensor& a) {
  return KernelRunner::Create(op, {a}).value().Run({a}).value();
}

template <typename C>
Tensor TensorOf(const Matrix<C>& matrix) {
  Tensor tensor = Tensor::Zeros(DTypeOf<C>, {matrix.rows(), matrix.cols()}).value();
  WriteMatrix<C, C>(matrix, 0, &tensor);
  return tensor;
}

// The product of the reflections whose vectors stand in `packed` from its row `first` on, in a
// square matrix.
template <typename C>
Matrix<C> ProductOfReflections(const Matrix<C>& packed, const Matrix<C>& taus, int64_t first) {
  const int64_t n = packed.rows();
  Matrix<C> product = Matrix<C>::Identity(n, n);
  if (n == first) return product;
  Matrix<C> vectors = Matrix<C>::Zero(n - first, n - first);
  const int64_t columns = std::min(packed.cols(), n - first);
  vectors.leftCols(columns) = packed.bottomRows(n - first).leftCols(columns);
  const Tensor tau =
      Tensor::Of<C>({taus.rows()}, std::vector<C>(taus.data(), taus.data() + taus.rows()));
  const Tensor q = RunOp("_LapackOrgqr", {TensorOf(vectors), tau}).value();
  product.bottomRightCorner(n - first, n - first) = MatrixAt<C>(q, 0);
  return product;
}

template <typename C>
void ExpectUnitary(const Matrix<C>& q) {
  EXPECT_LT((q.adjoint() * q - Matrix<C>::Identity(q.cols(), q.cols())).norm(), 1e-12);
}

template <typename C>
void ExpectQr(int64_t rows, int64_t columns) {
  const Tensor a = RandomMatrices<C>(2, rows, columns);
  const std::vector<Tensor> outputs = Reduce("_LapackGeqrf", a);
  for (int64_t i = 0; i < 2; ++i) {
    const Matrix<C> packed = MatrixAt<C>(outputs[0], i);
    const Matrix<C> q = ProductOfReflections<C>(packed, VectorAt<C>(outputs[1], i), 0);
    const Matrix<C> r = packed.template triangularView<Eigen::Upper>();
    ExpectUnitary(q);
    EXPECT_LT((q * r - MatrixAt<C>(a, i)).norm(), 1e-12) << rows << " " << columns;
  }
}

TEST(LapackGeqrfTest, ReflectionsAndTriangleMakeTheMatrix) {
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {1, 4}, {4, 1}, {5, 5}, {6, 4}, {4, 6}, {60, 50}}) {
    ExpectQr<double>(rows, columns);
    ExpectQr<Complex>(rows, columns);
  }
}

// The numbers are those that LAPACK computes.
TEST(LapackGeqrfTest, PacksAsLapackDoes) {
  const std::vector<Tensor> real = Reduce("_LapackGeqrf", Tensor::Of<float>({2, 1}, {3, 4}));
  EXPECT_FLOAT_EQ(real[0].data<float>()[0], -5);
  EXPECT_FLOAT_EQ(real[0].data<float>()[1], 0.5f);
  EXPECT_FLOAT_EQ(real[1].data<float>()[0], 1.6f);
  const std::vector<Tensor> complex =
      Reduce("_LapackGeqrf", Tensor::Of<Complex>({2, 1}, {Complex(0, 3), Complex(4, 0)}));
  EXPECT_LT(std::abs(complex[0].data<Complex>()[0] - Complex(-5, 0)), 1e-12);
  EXPECT_LT(std::abs(complex[0].data<Complex>()[1] - 4.0 / Complex(5, 3)), 1e-12);
  EXPECT_LT(std::abs(complex[1].data<Complex>()[0] - Complex(1, 0.6)), 1e-12);
}

TEST(LapackOrgqrTest, GivesAsManyColumnsAsTheMatrixHas) {
  const Tensor a = RandomMatrices<double>(1, 6, 3);
  const std::vector<Tensor> outputs = Reduce("_LapackGeqrf", a);
  const Tensor q = RunOp("_LapackOrgqr", {outputs[0], outputs[1]}).value();
  ASSERT_EQ(q.shape(), (Shape{1, 6, 3}));
  const Matrix<double> r =
      MatrixAt<double>(outputs[0], 0).topRows(3).triangularView<Eigen::Upper>();
  ExpectUnitary<double>(MatrixAt<double>(q, 0));
  EXPECT_LT((MatrixAt<double>(q, 0) * r - MatrixAt<double>(a, 0)).norm(), 1e-12);
}

TEST(LapackOrgqrTest, RefusesShapesThatDoNotFit) {
  const auto run = [](Shape a, Shape tau) {
    return RunOp("_LapackOrgqr", {Tensor::Zeros(DType::kFloat, a).value(),
                                  Tensor::Zeros(DType::kFloat, tau).value()})
        .status()
        .code();
  };
  EXPECT_EQ(run({2, 3}, {2}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run({3, 2}, {3}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run({2, 3, 2}, {1, 2}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run({3, 2}, {}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run({3, 2}, {0}), absl::StatusCode::kOk);
  EXPECT_EQ(run({2, 0, 0}, {2, 0}), absl::StatusCode::kOk);
}

// Expects the reduced matrix, of which `keep` keeps what belongs to it, to be similar to the
// matrix.
template <typename C, typename Keep>
void ExpectSimilar(absl::string_view op, const Matrix<C>& matrix, const Keep& keep) {
  const std::vector<Tensor> outputs = Reduce(op, TensorOf(matrix));
  const Matrix<C> packed = MatrixAt<C>(outputs[0], 0);
  ASSERT_EQ(outputs[1].dim(0), matrix.rows() - 1);
  const Matrix<C> q = ProductOfReflections<C>(packed, VectorAt<C>(outputs[1], 0), 1);
  ExpectUnitary(q);
  EXPECT_LT((q * keep(packed) * q.adjoint() - matrix).norm(), 1e-11) << op;
}

template <typename C>
void ExpectHessenberg(int64_t n) {
  ExpectSimilar<C>("_LapackGehrd", MatrixAt<C>(RandomMatrices<C>(1, n, n), 0), [&](Matrix<C> h) {
    for (int64_t c = 0; c < n; ++c) h.col(c).tail(std::max<int64_t>(n - c - 2, 0)).setZero();
    return h;
  });
}

template <typename C>
void ExpectTridiagonal(int64_t n) {
  Matrix<C> matrix = MatrixAt<C>(RandomMatrices<C>(1, n, n), 0);
  matrix = (matrix + matrix.adjoint()).eval();
  ExpectSimilar<C>("_LapackSytrd", matrix, [&](const Matrix<C>& packed) {
    Matrix<C> t = Matrix<C>::Zero(n, n);
    t.diagonal() = packed.diagonal().real().template cast<C>();
    t.diagonal(-1) = packed.diagonal(-1).real().template cast<C>();
    t.diagonal(1) = t.diagonal(-1);
    return t;
  });
}

TEST(LapackReductionsTest, AreSimilarToTheMatrix) {
  for (int64_t n : {1, 2, 3, 6, 40}) {
    ExpectHessenberg<double>(n);
    ExpectHessenberg<Complex>(n);
    ExpectTridiagonal<double>(n);
    ExpectTridiagonal<Complex>(n);
  }
}

TEST(LapackReductionsTest, TakeMatricesWithoutElements) {
  for (absl::string_view op : {"_LapackGeqrf", "_LapackGehrd", "_LapackSytrd"}) {
    EXPECT_EQ(Reduce(op, Tensor::Of<float>({2, 0, 0}, {}))[1].shape(), (Shape{2, 0})) << op;
  }
}

}  // namespace
}  // namespace tessera

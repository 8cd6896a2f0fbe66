// Functions of square matrices: MatrixSquareRoot, MatrixLogarithm, MatrixExponential, Eig,
// SelfAdjointEig, CholeskyGrad.
#include <complex>
#include <limits>

#include "Eigen/Eigenvalues"
#include "Eigen/LU"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/matrix_batch.h"
#include "unsupported/Eigen/MatrixFunctions"

namespace tessera {
namespace {

struct SquareRoot {
  template <typename M>
  static M Of(const M& x) {
    return x.sqrt();
  }
};
struct Logarithm {
  template <typename M>
  static M Of(const M& x) {
    // Of a real matrix it may be complex; there is no op for those.
    if constexpr (Eigen::NumTraits<typename M::Scalar>::IsComplex) {
      // Eigen takes roots until they are close to 1, which those of 0 never are.
      const Eigen::ComplexSchur<M> schur(x, /*computeU=*/false);
      const M& t = schur.matrixT();
      if (schur.info() == Eigen::Success && t.allFinite() &&
          t.diagonal().cwiseAbs().minCoeff() > 0) {
        return x.log();
      }
    }
    return M::Constant(x.rows(), x.cols(), std::numeric_limits<double>::quiet_NaN());
  }
};
struct Exponential {
  template <typename M>
  static M Of(const M& x) {
    return x.exp();
  }
};

// A matrix with an element that is not finite has no value but NaN.
template <typename Function>
class MatrixFunctionKernel : public OpKernel {
 public:
  explicit MatrixFunctionKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "input", true));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    if (y->num_elements() == 0) return absl::OkStatus();
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() {
      ctx.ParallelFor(batch.count, 10 * batch.Cost(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          Matrix<C> matrix = batch.Read<T, C>(x, i);
          if (matrix.allFinite()) {
            matrix = Function::Of(matrix);
          } else {
            matrix.setConstant(C(std::numeric_limits<double>::quiet_NaN()));
          }
          WriteMatrix<T, C>(matrix, i, y);
        }
      });
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("MatrixSquareRoot", kCpu, MatrixFunctionKernel<SquareRoot>);
REGISTER_KERNEL("MatrixLogarithm", kCpu, MatrixFunctionKernel<Logarithm>);
REGISTER_KERNEL("MatrixExponential", kCpu, MatrixFunctionKernel<Exponential>);

// Outputs: eigenvalues; eigenvectors in columns, empty without `compute_v`; complex both.
// Errors: INVALID_ARGUMENT for matrices that are not square, or whose iteration does not end.
class EigKernel : public OpKernel {
 public:
  explicit EigKernel(const KernelBuild& build) : vectors_(build.attr<bool>("compute_v")) {
    const DType in = build.input_types()[0];
    const bool is_double = in == DType::kDouble || in == DType::kComplex128;
    if (build.output_types()[0] != (is_double ? DType::kComplex128 : DType::kComplex64)) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat("Tout must be complex and as exact as ",
                                                         DTypeName(in), ", is ",
                                                         DTypeName(build.output_types()[0]))));
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "input", true));
    ASSIGN_OR_RETURN(const Shape values_shape, MatrixBatch::ShapeOf(x, {batch.rows}));
    ASSIGN_OR_RETURN(Tensor* const e, ctx.AllocateOutput(0, values_shape));
    ASSIGN_OR_RETURN(Tensor* const v, ctx.AllocateOutput(1, vectors_ ? x.shape() : Shape{0}));
    if (e->num_elements() == 0) return absl::OkStatus();
    // Real matrices have their eigenvalues in the order in which they split off, complex ones in
    // that of their real parts.
    using Complex = std::complex<double>;
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() -> absl::Status {
      using Wide = std::conditional_t<std::is_floating_point_v<T>, double, Complex>;
      using Solver =
          std::conditional_t<std::is_floating_point_v<T>, Eigen::EigenSolver<Matrix<double>>,
                             Eigen::ComplexEigenSolver<Matrix<Complex>>>;
      for (int64_t i = 0; i < batch.count; ++i) {
        const Matrix<Wide> matrix = batch.Read<T, C>(x, i).template cast<Wide>();
        Solver solver;
        if (matrix.allFinite()) solver.compute(matrix, vectors_);
        if (!matrix.allFinite() || solver.info() != Eigen::Success) {
          return absl::InvalidArgumentError(
              "Eigen decomposition was not successful. The input might not be valid.");
        }
        Write(solver.eigenvalues(), i, e);
        if (vectors_) Write(solver.eigenvectors(), i, v);
      }
      return absl::OkStatus();
    });
  }

 private:
  static void Write(const Matrix<std::complex<double>>& matrix, int64_t i, Tensor* to) {
    if (to->dtype() == DType::kComplex64) {
      WriteMatrix<std::complex<float>, std::complex<double>>(matrix, i, to);
    } else {
      WriteMatrix<std::complex<double>, std::complex<double>>(matrix, i, to);
    }
  }

  const bool vectors_;
};
REGISTER_KERNEL("Eig", kCpu, EigKernel);

// The eigenvalues as a row above the eigenvectors.
class StackedSelfAdjointEigKernel : public OpKernel {
 public:
  explicit StackedSelfAdjointEigKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "input", true));
    ASSIGN_OR_RETURN(const Shape shape, MatrixBatch::ShapeOf(x, {batch.rows + 1, batch.rows}));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() -> absl::Status {
      for (int64_t i = 0; i < batch.count; ++i) {
        const Eigen::SelfAdjointEigenSolver<Matrix<C>> solver(batch.Read<T, C>(x, i));
        if (solver.info() != Eigen::Success) {
          return absl::InvalidArgumentError(
              "Self-adjoint eigen decomposition was not successful. The input might not be valid.");
        }
        Matrix<C> stacked(batch.rows + 1, batch.rows);
        stacked << solver.eigenvalues().transpose().template cast<C>(), solver.eigenvectors();
        WriteMatrix<T, C>(stacked, i, y);
      }
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("SelfAdjointEig", kCpu, StackedSelfAdjointEigKernel);
REGISTER_KERNEL("BatchSelfAdjointEig", kCpu, StackedSelfAdjointEigKernel);

// From the factor l and its gradient (I. Murray, Differentiation of the Cholesky decomposition,
// 2016).
class CholeskyGradKernel : public OpKernel {
 public:
  explicit CholeskyGradKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& l = ctx.input(0);
    const Tensor& gradient = ctx.input(1);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(l, "l", true));
    if (!(gradient.shape() == l.shape())) {
      return absl::InvalidArgumentError(absl::StrCat("'grad' must have the shape of 'l', ",
                                                     l.shape().ToString(), ", has ",
                                                     gradient.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, l.shape()));
    if (y->num_elements() == 0) return absl::OkStatus();
    return VisitLinearType(l.dtype(), [&]<typename T, typename C>() {
      ctx.ParallelFor(batch.count, batch.Cost(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Matrix<C> factor = batch.Read<T, C>(l, i).template triangularView<Eigen::Lower>();
          const Matrix<C> given =
              batch.Read<T, C>(gradient, i).template triangularView<Eigen::Lower>();
          Matrix<C> p = (factor.adjoint() * given).template triangularView<Eigen::Lower>();
          p.diagonal() *= C(0.5);
          const auto upper = factor.adjoint().template triangularView<Eigen::Upper>();
          // l^-H p l^-1, where the second is solved from the other side.
          const Matrix<C> s = upper.solve(upper.solve(p).adjoint()).adjoint();
          WriteMatrix<T, C>((s + s.adjoint()) * C(0.5), i, y);
        }
      });
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("CholeskyGrad", kCpu, CholeskyGradKernel)
    .TypeConstraint("T", {DType::kFloat, DType::kDouble});
REGISTER_KERNEL("BatchCholeskyGrad", kCpu, CholeskyGradKernel);

}  // namespace
}  // namespace tessera

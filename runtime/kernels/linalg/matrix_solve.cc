// Linear systems: MatrixSolve, MatrixTriangularSolve, MatrixInverse, MatrixDeterminant,
// LogMatrixDeterminant, Cholesky.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "Eigen/Cholesky"
#include "Eigen/LU"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/batch_pairs.h"
#include "runtime/kernels/linalg/first_error.h"
#include "runtime/kernels/linalg/matrix_batch.h"
#include "runtime/kernels/linalg/singular.h"
#include "runtime/kernels/linalg/small_triangles.h"

namespace tessera {
namespace {

template <typename T>
using RowMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The matrix, or its conjugate transpose.
template <typename C>
Matrix<C> AdjointIf(bool adjoint, Matrix<C> matrix) {
  if (adjoint) matrix.adjointInPlace();
  return matrix;
}

// Errors: INVALID_ARGUMENT for matrices that are not square, or singular.
class MatrixInverseKernel : public OpKernel {
 public:
  explicit MatrixInverseKernel(const KernelBuild& build) : adjoint_(build.attr<bool>("adjoint")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "input", true));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    if (y->num_elements() == 0) return absl::OkStatus();
    FirstError error;
    const auto invert = [&]<typename T, typename C>() {
      ctx.ParallelFor(batch.count, batch.Cost(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Eigen::PartialPivLU<Matrix<C>> lu(AdjointIf(adjoint_, batch.Read<T, C>(x, i)));
          if (IsSingular(lu.matrixLU())) return error.Set(SingularError());
          WriteMatrix<T, C>(lu.inverse(), i, y);
        }
      });
      return absl::OkStatus();
    };
    if (x.dtype() == DType::kHalf) {  // the only op of this file that takes it
      RETURN_IF_ERROR((invert.template operator()<Eigen::half, double>()));
    } else {
      RETURN_IF_ERROR(VisitLinearType(x.dtype(), invert));
    }
    return error.Get();
  }

 private:
  const bool adjoint_;
};
REGISTER_KERNEL("MatrixInverse", kCpu, MatrixInverseKernel);
REGISTER_KERNEL("BatchMatrixInverse", kCpu, MatrixInverseKernel);

// The right-hand sides have the batch and the rows of the matrices.
// Errors: INVALID_ARGUMENT for other shapes, or a singular matrix.
class MatrixSolveKernel : public OpKernel {
 public:
  explicit MatrixSolveKernel(const KernelBuild& build) : adjoint_(build.attr<bool>("adjoint")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& right = ctx.input(1);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "matrix", true));
    ASSIGN_OR_RETURN(const MatrixBatch sides, RightSidesOf(right, x));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, right.shape()));
    if (y->num_elements() == 0) return absl::OkStatus();
    FirstError error;
    RETURN_IF_ERROR(VisitLinearType(x.dtype(), [&]<typename T, typename C>() {
      ctx.ParallelFor(batch.count, batch.Cost(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Eigen::PartialPivLU<Matrix<C>> lu(AdjointIf(adjoint_, batch.Read<T, C>(x, i)));
          if (IsSingular(lu.matrixLU())) return error.Set(SingularError());
          WriteMatrix<T, C>(lu.solve(sides.Read<T, C>(right, i)), i, y);
        }
      });
      return absl::OkStatus();
    }));
    return error.Get();
  }

 private:
  const bool adjoint_;
};
REGISTER_KERNEL("MatrixSolve", kCpu, MatrixSolveKernel);
REGISTER_KERNEL("BatchMatrixSolve", kCpu, MatrixSolveKernel);

// The batches of matrices and right-hand sides broadcast together.
// A 0 on a diagonal gives infinities and NaNs. Errors: INVALID_ARGUMENT for other shapes.
class TriangularSolveKernel : public OpKernel {
 public:
  explicit TriangularSolveKernel(const KernelBuild& build)
      : lower_(build.attr<bool>("lower")), adjoint_(build.attr<bool>("adjoint")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& right = ctx.input(1);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "matrix", true));
    ASSIGN_OR_RETURN(const MatrixBatch sides, MatrixBatch::Of(right, "rhs"));
    if (sides.rows != batch.rows) return UnfitSidesError(right, x);
    ASSIGN_OR_RETURN(const Shape shape, BatchPairs::OutputShape(x, right));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    const BatchPairs pairs(x, right, shape);
    // In the precision of the matrices, and where they lie: a triangle needs no pivots.
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() {
      const double cost = 1 + 0.5 * static_cast<double>(batch.rows * batch.rows * sides.columns);
      ctx.ParallelFor(pairs.matrix.size(), cost, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Eigen::Map<const RowMajorMatrix<T>> matrix(
              x.data<T>() + pairs.matrix[i] * batch.rows * batch.rows, batch.rows, batch.rows);
          Eigen::Map<RowMajorMatrix<T>> side(y->data<T>() + i * sides.rows * sides.columns,
                                             sides.rows, sides.columns);
          std::copy_n(right.data<T>() + pairs.side[i] * side.size(), side.size(), side.data());
          if constexpr (std::is_floating_point_v<T>) {
            if (batch.rows <= kMaxSmallTriangle) {
              SolveSmallTriangle<T>(
                  {.matrix = matrix.data(), .n = batch.rows, .lower = lower_, .adjoint = adjoint_},
                  sides.columns, side.data());
              continue;
            }
          }
          SolveTriangle(matrix, side);
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  template <typename A, typename B>
  void SolveTriangle(const A& matrix, B& side) const {
    if (lower_) {
      const auto triangle = matrix.template triangularView<Eigen::Lower>();
      adjoint_ ? triangle.adjoint().solveInPlace(side) : triangle.solveInPlace(side);
    } else {
      const auto triangle = matrix.template triangularView<Eigen::Upper>();
      adjoint_ ? triangle.adjoint().solveInPlace(side) : triangle.solveInPlace(side);
    }
  }

  const bool lower_, adjoint_;
};
REGISTER_KERNEL("MatrixTriangularSolve", kCpu, TriangularSolveKernel);
REGISTER_KERNEL("BatchMatrixTriangularSolve", kCpu, TriangularSolveKernel);

// Output [...]; the second of LogMatrixDeterminant is the logarithm of what the first has the sign
// of. Errors: INVALID_ARGUMENT for matrices that are not square.
template <bool kLog>
class DeterminantKernel : public OpKernel {
 public:
  explicit DeterminantKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "input", true));
    ASSIGN_OR_RETURN(const Shape shape, MatrixBatch::ShapeOf(x, {}));
    ASSIGN_OR_RETURN(Tensor * sign_output, ctx.AllocateOutput(0, shape));
    Tensor* log_output = nullptr;
    if (kLog) {
      ASSIGN_OR_RETURN(log_output, ctx.AllocateOutput(1, shape));
    }
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() {
      ctx.ParallelFor(batch.count, batch.Cost() / 3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          C sign = 1;
          double log = 0;
          if (batch.rows > 0) {
            const Eigen::PartialPivLU<Matrix<C>> lu(batch.Read<T, C>(x, i));
            sign = static_cast<double>(lu.permutationP().determinant());
            for (const C& pivot : lu.matrixLU().diagonal()) {
              log += std::log(std::abs(pivot));
              sign *= pivot / std::abs(pivot);
            }
          }
          if (log == -std::numeric_limits<double>::infinity()) sign = 0;
          if (kLog) {
            sign_output->data<T>()[i] = static_cast<T>(sign);
            log_output->data<T>()[i] = static_cast<T>(C(log));
          } else {
            // Through the logarithm, lest the product overflow on its way.
            sign_output->data<T>()[i] =
                static_cast<T>(sign == C(0) ? C(0) : sign * C(std::exp(log)));
          }
        }
      });
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("MatrixDeterminant", kCpu, DeterminantKernel<false>);
REGISTER_KERNEL("BatchMatrixDeterminant", kCpu, DeterminantKernel<false>);
REGISTER_KERNEL("LogMatrixDeterminant", kCpu, DeterminantKernel<true>);

// Only the lower triangles are read. The factor of a matrix that is not positive definite is a
// lower triangle of NaN. Errors: INVALID_ARGUMENT for matrices that are not square.
class CholeskyKernel : public OpKernel {
 public:
  explicit CholeskyKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "input", true));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    if (y->num_elements() == 0) return absl::OkStatus();
    // In the precision of the matrices, and where the output lies: a positive definite matrix needs
    // no pivots.
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() {
      const int64_t n = batch.rows;
      ctx.ParallelFor(batch.count, batch.Cost() / 6, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          Eigen::Map<RowMajorMatrix<T>> factor(y->data<T>() + i * n * n, n, n);
          std::copy_n(x.data<T>() + i * n * n, n * n, factor.data());
          if (!Factor(factor)) {
            factor.template triangularView<Eigen::Lower>().setConstant(
                T(std::numeric_limits<double>::quiet_NaN()));
          }
          factor.template triangularView<Eigen::StrictlyUpper>().setZero();
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  // Whether the matrix was positive definite.
  template <typename T>
  static bool Factor(Eigen::Map<RowMajorMatrix<T>>& matrix) {
    if constexpr (std::is_floating_point_v<T>) {
      if (matrix.rows() <= kMaxSmallTriangle) return SmallCholesky(matrix.rows(), matrix.data());
    }
    const Eigen::LLT<Eigen::Ref<RowMajorMatrix<T>>> llt(matrix);
    return llt.info() == Eigen::Success;
  }
};
REGISTER_KERNEL("Cholesky", kCpu, CholeskyKernel);
REGISTER_KERNEL("BatchCholesky", kCpu, CholeskyKernel);

}  // namespace
}  // namespace tessera

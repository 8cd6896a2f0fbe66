// Least squares: MatrixSolveLs.
#include <algorithm>

#include "Eigen/Cholesky"
#include "Eigen/QR"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/matrix_batch.h"

namespace tessera {
namespace {

// Inputs: matrices [..., m, n], right-hand sides [..., m, k], and how much the squares of the
// solution count. `fast` goes by the normal equations; else the solution of least norm is found,
// which needs no full rank, and the third input does not count.
// Errors: INVALID_ARGUMENT for other shapes, a negative third input, or, if fast, normal equations
// that have no unique solution.
class MatrixSolveLsKernel : public OpKernel {
 public:
  explicit MatrixSolveLsKernel(const KernelBuild& build) : fast_(build.attr<bool>("fast")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& right = ctx.input(1);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "matrix"));
    ASSIGN_OR_RETURN(const MatrixBatch sides, RightSidesOf(right, x));
    if (!ctx.input(2).shape().IsScalar() || !(ctx.input(2).scalar<double>() >= 0)) {
      return absl::InvalidArgumentError("'l2_regularizer' must be a scalar and not negative");
    }
    const double penalty = ctx.input(2).scalar<double>();
    ASSIGN_OR_RETURN(const Shape shape, MatrixBatch::ShapeOf(x, {batch.columns, sides.columns}));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() -> absl::Status {
      for (int64_t i = 0; i < batch.count; ++i) {
        const Matrix<C> a = batch.Read<T, C>(x, i);
        const Matrix<C> b = sides.Read<T, C>(right, i);
        if (!fast_) {
          const Eigen::CompleteOrthogonalDecomposition<Matrix<C>> decomposition(a);
          WriteMatrix<T, C>(decomposition.solve(b), i, y);
          continue;
        }
        const bool tall = batch.rows >= batch.columns;
        Matrix<C> normal = tall ? Matrix<C>(a.adjoint() * a) : Matrix<C>(a * a.adjoint());
        normal.diagonal().array() += C(penalty);
        const Eigen::LLT<Matrix<C>> llt(normal);
        if (llt.info() != Eigen::Success) {
          return absl::InvalidArgumentError(
              "the normal equations have no unique solution: the matrix lacks rank");
        }
        WriteMatrix<T, C>(
            tall ? Matrix<C>(llt.solve(a.adjoint() * b)) : Matrix<C>(a.adjoint() * llt.solve(b)), i,
            y);
      }
      return absl::OkStatus();
    });
  }

 private:
  const bool fast_;
};
REGISTER_KERNEL("MatrixSolveLs", kCpu, MatrixSolveLsKernel).HostMemory("l2_regularizer");
REGISTER_KERNEL("BatchMatrixSolveLs", kCpu, MatrixSolveLsKernel).HostMemory("l2_regularizer");

}  // namespace
}  // namespace tessera

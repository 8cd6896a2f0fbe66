// Factors of matrices as XLA's ops give them: XlaSelfAdjointEig, XlaSvd. The iterations of Eigen
// take the place of Jacobi's, so that `max_iter` and `epsilon` do not matter.
#include <algorithm>

#include "Eigen/Eigenvalues"
#include "Eigen/SVD"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/for_each_matrix.h"
#include "runtime/kernels/linalg/matrix_batch.h"

namespace tessera {
namespace {

// As VisitLinearType(), and for the short floats that XLA takes too.
template <typename Visitor>
absl::Status VisitFactorType(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kHalf:
      return visit.template operator()<Eigen::half, double>();
    case DType::kBfloat16:
      return visit.template operator()<Eigen::bfloat16, double>();
    default:
      return VisitLinearType(dtype, visit);
  }
}

// Outputs: eigenvalues, rising, and eigenvectors in columns. `lower` says which triangle is read.
// Those of a matrix that is not finite there are NaN.
// Errors: INVALID_ARGUMENT for matrices that are not square; UNIMPLEMENTED for other dtypes.
class EigenKernel final : public OpKernel {
 public:
  explicit EigenKernel(const KernelBuild& build) : lower_(build.attr<bool>("lower")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "a", true));
    ASSIGN_OR_RETURN(const Shape w_shape, MatrixBatch::ShapeOf(x, {batch.rows}));
    ASSIGN_OR_RETURN(Tensor* const w, ctx.AllocateOutput(0, w_shape));
    ASSIGN_OR_RETURN(Tensor* const v, ctx.AllocateOutput(1, x.shape()));
    if (v->num_elements() == 0) return absl::OkStatus();
    return VisitFactorType(x.dtype(), [&]<typename T, typename C>() -> absl::Status {
      ForEachMatrix(ctx, batch, [&](int64_t i) {
        Matrix<C> matrix = batch.Read<T, C>(x, i);
        if (!lower_) matrix.adjointInPlace();  // Eigen reads the lower triangle
        const Eigen::SelfAdjointEigenSolver<Matrix<C>> solver(matrix);
        if (solver.info() != Eigen::Success || !solver.eigenvalues().allFinite()) {
          WriteNans<T>(batch.rows, i, w);
          WriteNans<T>(batch.rows * batch.rows, i, v);
          return;
        }
        WriteMatrix<T, C>(solver.eigenvalues().template cast<C>(), i, w);
        WriteMatrix<T, C>(solver.eigenvectors(), i, v);
      });
      return absl::OkStatus();
    });
  }

 private:
  const bool lower_;
};
REGISTER_KERNEL("XlaSelfAdjointEig", kCpu, EigenKernel);

// Outputs: singular values, falling; the left and the right vectors in columns of square matrices.
// Those of a matrix that is not finite are NaN, those of a matrix without rows or columns a basis.
// Errors: INVALID_ARGUMENT for no matrices; UNIMPLEMENTED for other dtypes.
class SvdKernel final : public OpKernel {
 public:
  explicit SvdKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "a"));
    const int64_t least = std::min(batch.rows, batch.columns);
    ASSIGN_OR_RETURN(const Shape s_shape, MatrixBatch::ShapeOf(x, {least}));
    ASSIGN_OR_RETURN(const Shape u_shape, MatrixBatch::ShapeOf(x, {batch.rows, batch.rows}));
    ASSIGN_OR_RETURN(const Shape v_shape, MatrixBatch::ShapeOf(x, {batch.columns, batch.columns}));
    ASSIGN_OR_RETURN(Tensor* const s, ctx.AllocateOutput(0, s_shape));
    ASSIGN_OR_RETURN(Tensor* const u, ctx.AllocateOutput(1, u_shape));
    ASSIGN_OR_RETURN(Tensor* const v, ctx.AllocateOutput(2, v_shape));
    // There may be any number of matrices without rows and columns.
    if (u->num_elements() == 0 && v->num_elements() == 0) return absl::OkStatus();
    return VisitFactorType(x.dtype(), [&]<typename T, typename C>() {
      for (int64_t i = 0; i < batch.count; ++i) {
        if (least == 0) {
          WriteMatrix<T, C>(Matrix<C>::Identity(batch.rows, batch.rows), i, u);
          WriteMatrix<T, C>(Matrix<C>::Identity(batch.columns, batch.columns), i, v);
          continue;
        }
        const Eigen::BDCSVD<Matrix<C>> svd(batch.Read<T, C>(x, i),
                                           Eigen::ComputeFullU | Eigen::ComputeFullV);
        if (svd.info() != Eigen::Success) {
          WriteNans<T>(least, i, s);
          WriteNans<T>(batch.rows * batch.rows, i, u);
          WriteNans<T>(batch.columns * batch.columns, i, v);
          continue;
        }
        WriteMatrix<T, C>(svd.singularValues().template cast<C>(), i, s);
        WriteMatrix<T, C>(svd.matrixU(), i, u);
        WriteMatrix<T, C>(svd.matrixV(), i, v);
      }
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("XlaSvd", kCpu, SvdKernel);

}  // namespace
}  // namespace tessera

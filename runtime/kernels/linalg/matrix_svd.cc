// Singular values: Svd.
#include <algorithm>

#include "Eigen/SVD"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/matrix_batch.h"

namespace tessera {
namespace {

// Outputs: singular values, falling; left and right vectors, empty without `compute_uv`. Those of a
// matrix that is not finite are NaN.
// Errors: INVALID_ARGUMENT for no matrices.
class SvdKernel : public OpKernel {
 public:
  explicit SvdKernel(const KernelBuild& build)
      : vectors_(build.attr<bool>("compute_uv")), full_(build.attr<bool>("full_matrices")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "input"));
    const int64_t rows = batch.rows, columns = batch.columns, least = std::min(rows, columns);
    const int64_t left = full_ ? rows : least, right = full_ ? columns : least;
    ASSIGN_OR_RETURN(const Shape s_shape, MatrixBatch::ShapeOf(x, {least}));
    ASSIGN_OR_RETURN(const Shape u_shape, MatrixBatch::ShapeOf(x, {rows, left}));
    ASSIGN_OR_RETURN(const Shape v_shape, MatrixBatch::ShapeOf(x, {columns, right}));
    ASSIGN_OR_RETURN(Tensor * s, ctx.AllocateOutput(0, s_shape));
    ASSIGN_OR_RETURN(Tensor * u, ctx.AllocateOutput(1, vectors_ ? u_shape : Shape{0}));
    ASSIGN_OR_RETURN(Tensor * v, ctx.AllocateOutput(2, vectors_ ? v_shape : Shape{0}));
    if (s->num_elements() == 0 && u->num_elements() == 0 && v->num_elements() == 0) {
      return absl::OkStatus();
    }
    const unsigned options = !vectors_ ? 0
                             : full_   ? Eigen::ComputeFullU | Eigen::ComputeFullV
                                       : Eigen::ComputeThinU | Eigen::ComputeThinV;
    return VisitLinearType(x.dtype(), [&]<typename T, typename>() {
      ctx.ParallelFor(batch.count, batch.Cost(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if (least == 0) {
            if (vectors_) WriteMatrix<T, T>(Matrix<T>::Identity(rows, left), i, u);
            if (vectors_) WriteMatrix<T, T>(Matrix<T>::Identity(columns, right), i, v);
            continue;
          }
          const Eigen::BDCSVD<Matrix<T>> svd(batch.Read<T, T>(x, i), options);
          if (svd.info() != Eigen::Success) {
            WriteNans<T>(least, i, s);
            if (vectors_) WriteNans<T>(rows * left, i, u);
            if (vectors_) WriteNans<T>(columns * right, i, v);
            continue;
          }
          WriteMatrix<T, T>(svd.singularValues().template cast<T>(), i, s);
          if (!vectors_) continue;
          WriteMatrix<T, T>(svd.matrixU(), i, u);
          WriteMatrix<T, T>(svd.matrixV(), i, v);
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  const bool vectors_, full_;
};
REGISTER_KERNEL("Svd", kCpu, SvdKernel);
REGISTER_KERNEL("BatchSvd", kCpu, SvdKernel);

}  // namespace
}  // namespace tessera

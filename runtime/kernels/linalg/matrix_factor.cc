// Factors of matrices: Qr, SelfAdjointEigV2.
#include <algorithm>

#include "Eigen/Eigenvalues"
#include "Eigen/QR"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/first_error.h"
#include "runtime/kernels/linalg/matrix_batch.h"

namespace tessera {
namespace {

// Outputs: q and r. `full_matrices` makes q square. Errors: INVALID_ARGUMENT for no matrices.
class QrKernel : public OpKernel {
 public:
  explicit QrKernel(const KernelBuild& build) : full_(build.attr<bool>("full_matrices")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "input"));
    const int64_t rows = batch.rows, columns = batch.columns;
    const int64_t inner = full_ ? rows : std::min(rows, columns);
    ASSIGN_OR_RETURN(const Shape q_shape, MatrixBatch::ShapeOf(x, {rows, inner}));
    ASSIGN_OR_RETURN(const Shape r_shape, MatrixBatch::ShapeOf(x, {inner, columns}));
    ASSIGN_OR_RETURN(Tensor * q, ctx.AllocateOutput(0, q_shape));
    ASSIGN_OR_RETURN(Tensor * r, ctx.AllocateOutput(1, r_shape));
    if (q->num_elements() == 0) return absl::OkStatus();
    const auto factor = [&]<typename T, typename C>() {
      ctx.ParallelFor(batch.count, batch.Cost(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if (columns == 0) {
            WriteMatrix<T, C>(Matrix<C>::Identity(rows, inner), i, q);
            continue;
          }
          const Eigen::HouseholderQR<Matrix<C>> qr(batch.Read<T, C>(x, i));
          WriteMatrix<T, C>(qr.householderQ() * Matrix<C>::Identity(rows, inner), i, q);
          WriteMatrix<T, C>(qr.matrixQR().topRows(inner).template triangularView<Eigen::Upper>(), i,
                            r);
        }
      });
      return absl::OkStatus();
    };
    if (x.dtype() == DType::kHalf) return factor.template operator()<Eigen::half, double>();
    return VisitLinearType(x.dtype(), factor);
  }

 private:
  const bool full_;
};
REGISTER_KERNEL("Qr", kCpu, QrKernel);

// Outputs: eigenvalues, rising; eigenvectors in columns, empty without `compute_v`. Only the lower
// triangles are read.
// Errors: INVALID_ARGUMENT for matrices that are not square, or whose iteration does not end.
class SelfAdjointEigKernel : public OpKernel {
 public:
  explicit SelfAdjointEigKernel(const KernelBuild& build)
      : vectors_(build.attr<bool>("compute_v")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "input", true));
    const int64_t n = batch.rows;
    ASSIGN_OR_RETURN(const Shape e_shape, MatrixBatch::ShapeOf(x, {n}));
    ASSIGN_OR_RETURN(Tensor * e, ctx.AllocateOutput(0, e_shape));
    ASSIGN_OR_RETURN(Tensor * v, ctx.AllocateOutput(1, vectors_ ? x.shape() : Shape{0}));
    if (e->num_elements() == 0) return absl::OkStatus();
    FirstError error;
    RETURN_IF_ERROR(VisitLinearType(x.dtype(), [&]<typename T, typename>() {
      ctx.ParallelFor(batch.count, batch.Cost(), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const Eigen::SelfAdjointEigenSolver<Matrix<T>> solver(
              batch.Read<T, T>(x, i),
              vectors_ ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
          if (solver.info() != Eigen::Success) {
            return error.Set(
                absl::InvalidArgumentError("no eigenvalues were found: is the input valid?"));
          }
          WriteMatrix<T, T>(solver.eigenvalues().template cast<T>(), i, e);
          if (vectors_) WriteMatrix<T, T>(solver.eigenvectors(), i, v);
        }
      });
      return absl::OkStatus();
    }));
    return error.Get();
  }

 private:
  const bool vectors_;
};
REGISTER_KERNEL("SelfAdjointEigV2", kCpu, SelfAdjointEigKernel);
REGISTER_KERNEL("BatchSelfAdjointEigV2", kCpu, SelfAdjointEigKernel);

}  // namespace
}  // namespace tessera

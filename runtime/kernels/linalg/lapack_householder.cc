// Reductions by Householder reflections as LAPACK gives them: _LapackGeqrf, _LapackGehrd,
// _LapackSytrd, and the product of such reflections, _LapackOrgqr.
//
// Reflection i is 1 - tau[i] * v * v^H. The vector v, whose first element is 1, stands without it
// in column i of the reduced matrix, below what the reduction has left there.
#include <algorithm>

#include "Eigen/Eigenvalues"
#include "Eigen/QR"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/for_each_matrix.h"
#include "runtime/kernels/linalg/matrix_batch.h"

namespace tessera {
namespace {

// The upper factor of a QR decomposition.
struct Triangle {
  static constexpr bool kSquare = false;
  static int64_t Reflections(int64_t rows, int64_t columns) { return std::min(rows, columns); }

  template <typename C>
  static void Reduce(Matrix<C>* matrix, Matrix<C>* taus) {
    const Eigen::HouseholderQR<Matrix<C>> qr(*matrix);
    *matrix = qr.matrixQR();
    *taus = qr.hCoeffs().conjugate();
  }
};

// A Hessenberg matrix that is similar to a square one.
struct Hessenberg {
  static constexpr bool kSquare = true;
  static int64_t Reflections(int64_t rows, int64_t) { return std::max<int64_t>(rows - 1, 0); }

  template <typename C>
  static void Reduce(Matrix<C>* matrix, Matrix<C>* taus) {
    if (matrix->rows() < 2) return;
    const Eigen::HessenbergDecomposition<Matrix<C>> reduced(*matrix);
    *matrix = reduced.packedMatrix();
    *taus = reduced.householderCoefficients().conjugate();
  }
};

// A tridiagonal matrix that is similar to a Hermitian one, of which the lower triangle is read.
struct Tridiagonal {
  static constexpr bool kSquare = true;
  static int64_t Reflections(int64_t rows, int64_t) { return std::max<int64_t>(rows - 1, 0); }

  template <typename C>
  static void Reduce(Matrix<C>* matrix, Matrix<C>* taus) {
    if (matrix->rows() < 2) return;
    const Eigen::Tridiagonalization<Matrix<C>> reduced(*matrix);
    *matrix = reduced.packedMatrix();
    *taus = reduced.householderCoefficients().conjugate();
  }
};

// Outputs: the reduced matrix with the vectors of the reflections, and their taus.
// Errors: INVALID_ARGUMENT for no matrices, or matrices that are not square and must be.
template <typename Reduction>
class ReductionKernel final : public OpKernel {
 public:
  explicit ReductionKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "a", Reduction::kSquare));
    ASSIGN_OR_RETURN(const Shape taus_shape,
                     MatrixBatch::ShapeOf(x, {Reduction::Reflections(batch.rows, batch.columns)}));
    ASSIGN_OR_RETURN(Tensor* const reduced, ctx.AllocateOutput(0, x.shape()));
    ASSIGN_OR_RETURN(Tensor* const taus, ctx.AllocateOutput(1, taus_shape));
    if (x.num_elements() == 0) return absl::OkStatus();
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() {
      ForEachMatrix(ctx, batch, [&](int64_t i) {
        Matrix<C> matrix = batch.Read<T, C>(x, i);
        Matrix<C> matrix_taus;
        Reduction::Reduce(&matrix, &matrix_taus);
        WriteMatrix<T, C>(matrix, i, reduced);
        WriteMatrix<T, C>(matrix_taus, i, taus);
      });
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("_LapackGeqrf", kCpu, ReductionKernel<Triangle>);
REGISTER_KERNEL("_LapackGehrd", kCpu, ReductionKernel<Hessenberg>);
REGISTER_KERNEL("_LapackSytrd", kCpu, ReductionKernel<Tridiagonal>);

// Outputs the first columns, as many as the matrix has that the vectors stand in, of the product of
// the reflections. Errors: INVALID_ARGUMENT unless there are at least as many rows as columns and
// at least as many columns as taus, in batches of the same shape.
class OrgqrKernel final : public OpKernel {
 public:
  explicit OrgqrKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& taus = ctx.input(1);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "a"));
    const int rank = batch.batch_rank;
    if (batch.rows < batch.columns || taus.rank() != rank + 1 || taus.dim(rank) > batch.columns ||
        taus.shape().dims().subspan(0, rank) != x.shape().dims().subspan(0, rank)) {
      return absl::InvalidArgumentError(absl::StrCat("taus of shape ", taus.shape().ToString(),
                                                     " do not fit reflections of shape ",
                                                     x.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const q, ctx.AllocateOutput(0, x.shape()));
    if (q->num_elements() == 0) return absl::OkStatus();
    const MatrixBatch factors{batch.count, taus.dim(rank), 1, rank};
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() {
      ForEachMatrix(ctx, batch, [&](int64_t i) {
        const Matrix<C> vectors = batch.Read<T, C>(x, i);
        const Eigen::Matrix<C, Eigen::Dynamic, 1> coefficients = factors.Read<T, C>(taus, i);
        Matrix<C> product = Matrix<C>::Identity(batch.rows, batch.columns);
        auto reflections = Eigen::householderSequence(vectors, coefficients);
        product.applyOnTheLeft(reflections.setLength(factors.rows));
        WriteMatrix<T, C>(product, i, q);
      });
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("_LapackOrgqr", kCpu, OrgqrKernel);

}  // namespace
}  // namespace tessera

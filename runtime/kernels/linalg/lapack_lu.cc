// LU factors as LAPACK's getrf gives them: _LapackGetrf.
#include <algorithm>
#include <cmath>
#include <complex>

#include "Eigen/LU"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/for_each_matrix.h"
#include "runtime/kernels/linalg/matrix_batch.h"

namespace tessera {
namespace {

constexpr int64_t kPanel = 32;  // columns whose pivots are found before the rest is updated

// The magnitude by which LAPACK chooses pivots.
double Magnitude(double x) { return std::abs(x); }
double Magnitude(const std::complex<double>& x) { return std::abs(x.real()) + std::abs(x.imag()); }

// Replaces a matrix of any size by its factors: the upper one, and below the diagonal the lower
// one, whose own diagonal is 1. Row k was exchanged with row pivots[k] - 1, one after the other. A
// pivot of zero divides nothing. Returns the number of the first one, counted from 1, or 0.
template <typename C>
int32_t FactorLu(Matrix<C>* lu, int32_t* pivots) {
  const int64_t rows = lu->rows(), columns = lu->cols(), least = std::min(rows, columns);
  int32_t first_zero = 0;
  for (int64_t first = 0; first < least; first += kPanel) {
    const int64_t end = std::min(first + kPanel, least);
    for (int64_t k = first; k < end; ++k) {
      Eigen::Index below = 0;
      const double largest = lu->col(k)
                                 .tail(rows - k)
                                 .unaryExpr([](const C& x) { return Magnitude(x); })
                                 .maxCoeff(&below);
      pivots[k] = static_cast<int32_t>(k + below + 1);
      if (below != 0) lu->row(k).swap(lu->row(k + below));
      const int64_t rest = rows - k - 1;
      if (largest != 0) {
        lu->col(k).tail(rest) /= (*lu)(k, k);
      } else if (first_zero == 0) {
        first_zero = static_cast<int32_t>(k + 1);
      }
      lu->block(k + 1, k + 1, rest, end - k - 1).noalias() -=
          lu->col(k).tail(rest) * lu->row(k).segment(k + 1, end - k - 1);
    }
    const int64_t width = end - first, right = columns - end, below = rows - end;
    if (right == 0) continue;
    auto upper = lu->block(first, end, width, right);
    lu->block(first, first, width, width)
        .template triangularView<Eigen::UnitLower>()
        .solveInPlace(upper);
    lu->block(end, end, below, right).noalias() -= lu->block(end, first, below, width) * upper;
  }
  return first_zero;
}

// Outputs: both factors in one matrix, the pivots, and the number of the first pivot that is zero.
// Numbers count from 1. Errors: INVALID_ARGUMENT for no matrices.
class GetrfKernel final : public OpKernel {
 public:
  explicit GetrfKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "a"));
    const int64_t least = std::min(batch.rows, batch.columns);
    ASSIGN_OR_RETURN(const Shape pivots_shape, MatrixBatch::ShapeOf(x, {least}));
    ASSIGN_OR_RETURN(const Shape info_shape, MatrixBatch::ShapeOf(x, {}));
    ASSIGN_OR_RETURN(Tensor* const lu, ctx.AllocateOutput(0, x.shape()));
    ASSIGN_OR_RETURN(Tensor* const pivots, ctx.AllocateOutput(1, pivots_shape));
    ASSIGN_OR_RETURN(Tensor* const info, ctx.AllocateOutput(2, info_shape));
    if (least == 0) {
      std::fill_n(info->data<int32_t>(), info->num_elements(), 0);
      return absl::OkStatus();
    }
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() {
      ForEachMatrix(ctx, batch, [&](int64_t i) {
        Matrix<C> matrix = batch.Read<T, C>(x, i);
        info->data<int32_t>()[i] = FactorLu(&matrix, pivots->data<int32_t>() + i * least);
        WriteMatrix<T, C>(matrix, i, lu);
      });
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("_LapackGetrf", kCpu, GetrfKernel);

}  // namespace
}  // namespace tessera

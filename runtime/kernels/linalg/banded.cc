// Matrices of which only some diagonals are not zero: TridiagonalMatMul, TridiagonalSolve,
// BandedTriangularSolve.
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/batch_pairs.h"
#include "runtime/kernels/linalg/matrix_batch.h"
#include "runtime/kernels/linalg/perturbed_tridiagonal.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT unless `t` is a batch of matrices of `rows` rows, with the dimensions
// before them of `like`.
absl::Status CheckMatches(const Tensor& t, const Tensor& like, int64_t rows,
                          absl::string_view name) {
  const int batch_rank = like.rank() - 2;
  if (t.rank() == like.rank() && t.dim(batch_rank) == rows &&
      t.shape().dims().subspan(0, batch_rank) == like.shape().dims().subspan(0, batch_rank)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' must have ", rows, " rows and the batch dimensions of ",
                   like.shape().ToString(), ", has shape ", t.shape().ToString()));
}

// Inputs: the diagonals above, on and below the main one, each [..., 1, m], of which the last of
// the first and the first of the last lie outside; the right side [..., m, n].
class TridiagonalMatMulKernel : public OpKernel {
 public:
  explicit TridiagonalMatMulKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& right = ctx.input(3);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(right, "rhs"));
    for (int i = 0; i < 3; ++i) {
      RETURN_IF_ERROR(CheckMatches(ctx.input(i), right, 1, "diagonal"));
      if (ctx.input(i).dim(right.rank() - 1) != batch.rows) {
        return absl::InvalidArgumentError(absl::StrCat("a diagonal must have ", batch.rows,
                                                       " elements, has shape ",
                                                       ctx.input(i).shape().ToString()));
      }
    }
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, right.shape()));
    if (y->num_elements() == 0) return absl::OkStatus();
    return VisitLinearType(right.dtype(), [&]<typename T, typename C>() {
      const int64_t m = batch.rows;
      for (int64_t i = 0; i < batch.count; ++i) {
        const Matrix<C> x = batch.Read<T, C>(right, i);
        Matrix<C> product(m, batch.columns);
        auto diagonal = [&](int which, int64_t row) {
          return static_cast<C>(ctx.input(which).data<T>()[i * m + row]);
        };
        for (int64_t row = 0; row < m; ++row) {
          product.row(row) = diagonal(1, row) * x.row(row);
          if (row + 1 < m) product.row(row) += diagonal(0, row) * x.row(row + 1);
          if (row > 0) product.row(row) += diagonal(2, row) * x.row(row - 1);
        }
        WriteMatrix<T, C>(product, i, y);
      }
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("TridiagonalMatMul", kCpu, TridiagonalMatMulKernel);

// Solves for all columns of x in place. `above`, `main` and `below` are the diagonals by row, and
// are overwritten. Returns false for a singular matrix.
template <typename C>
bool SolveTridiagonal(std::vector<C> above, std::vector<C> main, std::vector<C> below, bool pivot,
                      Matrix<C>* x) {
  const int64_t m = x->rows();
  std::vector<C> second(m, C(0));  // the diagonal that exchanged rows fill above `above`
  for (int64_t row = 0; row + 1 < m; ++row) {
    if (pivot && std::abs(below[row + 1]) > std::abs(main[row])) {
      std::swap(main[row], below[row + 1]);
      std::swap(above[row], main[row + 1]);
      std::swap(second[row], above[row + 1]);
      x->row(row).swap(x->row(row + 1));
    }
    if (main[row] == C(0)) return false;
    const C factor = below[row + 1] / main[row];
    main[row + 1] -= factor * above[row];
    above[row + 1] -= factor * second[row];
    x->row(row + 1) -= factor * x->row(row);
  }
  if (main[m - 1] == C(0)) return false;
  for (int64_t row = m; row-- > 0;) {
    if (row + 1 < m) x->row(row) -= above[row] * x->row(row + 1);
    if (row + 2 < m) x->row(row) -= second[row] * x->row(row + 2);
    x->row(row) /= main[row];
  }
  return true;
}

// Inputs: diagonals [..., 3, m] as above, and right sides [..., m, n].
// Singular matrices give NaN, or something finite with `perturb_singular`.
class TridiagonalSolveKernel : public OpKernel {
 public:
  explicit TridiagonalSolveKernel(const KernelBuild& build)
      : pivot_(build.attr<bool>("partial_pivoting")),
        perturb_(build.attr<bool>("perturb_singular")) {
    if (pivot_ || !perturb_) return;
    build.Fail(absl::InvalidArgumentError(
        "Setting perturb_singular requires also setting partial_pivoting."));
  }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& diagonals = ctx.input(0);
    const Tensor& right = ctx.input(1);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(diagonals, "diagonals"));
    const int64_t m = batch.columns;
    if (batch.rows != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected diagonals to have 3 rows, got ", batch.rows));
    }
    RETURN_IF_ERROR(CheckMatches(right, diagonals, m, "rhs"));
    ASSIGN_OR_RETURN(const MatrixBatch sides, MatrixBatch::Of(right, "rhs"));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, right.shape()));
    if (y->num_elements() == 0) return absl::OkStatus();
    return VisitLinearType(right.dtype(), [&]<typename T, typename C>() -> absl::Status {
      const double cost = 20 * static_cast<double>(m * (1 + sides.columns));
      ctx.ParallelFor(batch.count, cost, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if (perturb_) {
            // How far a pivot is moved depends on the precision of T.
            Matrix<T> x = sides.Read<T, T>(right, i);
            PerturbedTridiagonal<T>::Solve(batch.Read<T, T>(diagonals, i), &x);
            WriteMatrix<T, T>(x, i, y);
            continue;
          }
          const Matrix<C> d = batch.Read<T, C>(diagonals, i);
          auto row = [&](int r) {
            std::vector<C> values(m);
            for (int64_t c = 0; c < m; ++c) values[c] = d(r, c);
            return values;
          };
          Matrix<C> x = sides.Read<T, C>(right, i);
          std::vector<C> above = row(0);
          above[m - 1] = C(0);
          if (!SolveTridiagonal<C>(std::move(above), row(1), row(2), pivot_, &x)) {
            x.setConstant(C(std::numeric_limits<double>::quiet_NaN()));
          }
          WriteMatrix<T, C>(x, i, y);
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  const bool pivot_, perturb_;
};
REGISTER_KERNEL("TridiagonalSolve", kCpu, TridiagonalSolveKernel);

// Inputs: the diagonals of triangular matrices, [..., bands, m], and right sides [..., m, n]. Row k
// of a lower matrix holds the k-th diagonal below the main one, aligned at its end; the last row of
// an upper one is the main diagonal, and those above it are aligned at their begin. The batches
// broadcast together. Bands outside of the matrix are not looked at.
// Errors: INVALID_ARGUMENT for a zero on the main diagonal.
class BandedTriangularSolveKernel : public OpKernel {
 public:
  explicit BandedTriangularSolveKernel(const KernelBuild& build)
      : lower_(build.attr<bool>("lower")), adjoint_(build.attr<bool>("adjoint")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& bands = ctx.input(0);
    const Tensor& right = ctx.input(1);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(bands, "matrix"));
    if (batch.rows < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'matrix' must have at least one band, has shape ", bands.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const MatrixBatch sides, MatrixBatch::Of(right, "rhs"));
    if (sides.rows != batch.columns) {
      return absl::InvalidArgumentError(
          absl::StrCat("right-hand sides of shape ", right.shape().ToString(),
                       " do not fit bands of shape ", bands.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Shape shape, BatchPairs::OutputShape(bands, right));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    const BatchPairs pairs(bands, right, shape);
    return VisitLinearType(right.dtype(), [&]<typename T, typename C>() -> absl::Status {
      for (size_t i = 0; i < pairs.matrix.size(); ++i) {
        Matrix<C> x = sides.Read<T, C>(right, pairs.side[i]);
        if (!Solve<C>(batch.Read<T, C>(bands, pairs.matrix[i]), &x)) {
          return absl::InvalidArgumentError("Input matrix is not invertible.");
        }
        WriteMatrix<T, C>(x, i, y);
      }
      return absl::OkStatus();
    });
  }

 private:
  template <typename C>
  bool Solve(const Matrix<C>& bands, Matrix<C>* x) const {
    const int64_t m = x->rows(), count = bands.rows();
    // The element k places from the main diagonal in row r of the matrix before it is transposed.
    auto element = [&](int64_t r, int64_t k) {
      return lower_ ? bands(k, r) : bands(count - 1 - k, r);
    };
    const bool forward = lower_ != adjoint_;
    for (int64_t step = 0; step < m; ++step) {
      const int64_t row = forward ? step : m - 1 - step;
      for (int64_t k = 1; k < count && k <= step; ++k) {
        const int64_t other = forward ? row - k : row + k;
        const C factor = adjoint_ ? Eigen::numext::conj(element(other, k)) : element(row, k);
        x->row(row) -= factor * x->row(other);
      }
      const C pivot = adjoint_ ? Eigen::numext::conj(element(row, 0)) : element(row, 0);
      if (pivot == C(0)) return false;
      x->row(row) /= pivot;
    }
    return true;
  }

  const bool lower_, adjoint_;
};
REGISTER_KERNEL("BandedTriangularSolve", kCpu, BandedTriangularSolveKernel);

}  // namespace
}  // namespace tessera

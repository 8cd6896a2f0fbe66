// Eigenvalues and Schur forms of general matrices as LAPACK gives them: _LapackGeev, _LapackGees.
// All results of a matrix that is not finite are NaN.
#include <algorithm>
#include <complex>
#include <limits>
#include <type_traits>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/linalg/for_each_matrix.h"
#include "runtime/kernels/linalg/matrix_batch.h"
#include "runtime/kernels/linalg/schur_form.h"

namespace tessera {
namespace {

using Complex = std::complex<double>;
using ComplexVector = Eigen::VectorXcd;

// Fails unless output `output` holds complex numbers as exact as the input.
void CheckComplexOutput(const KernelBuild& build, int output) {
  const DType in = build.input_types()[0];
  const bool is_double = in == DType::kDouble || in == DType::kComplex128;
  if (build.output_types()[output] == (is_double ? DType::kComplex128 : DType::kComplex64)) return;
  build.Fail(absl::InvalidArgumentError(absl::StrCat("Tout must be complex and as exact as ",
                                                     DTypeName(in), ", is ",
                                                     DTypeName(build.output_types()[output]))));
}

void WriteComplex(const Matrix<Complex>& matrix, int64_t i, Tensor* to) {
  if (to->dtype() == DType::kComplex64) {
    WriteMatrix<std::complex<float>, Complex>(matrix, i, to);
  } else {
    WriteMatrix<Complex, Complex>(matrix, i, to);
  }
}

Matrix<Complex> ComplexNans(int64_t rows, int64_t columns) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return Matrix<Complex>::Constant(rows, columns, Complex(kNan, kNan));
}

// The difference of two eigenvalues as a divisor, which must not be 0, nor so small that a quotient
// overflows.
Complex Divisor(const Complex& difference, const Complex& eigenvalue) {
  const double least =
      std::max(std::abs(eigenvalue) * std::numeric_limits<double>::epsilon(), 1e-280);
  return std::abs(difference) < least ? Complex(least) : difference;
}

// Scales a vector whose length does not matter so that its new number i is at most 1.
void Limit(int64_t i, ComplexVector* x) {
  const double magnitude = std::abs((*x)(i));
  if (magnitude > 1) *x *= 1 / magnitude;  // complex quotients may overflow
}

// Solves t x = t(k, k) x for a triangular matrix.
ComplexVector RightVector(const Matrix<Complex>& t, int64_t k) {
  ComplexVector x = ComplexVector::Zero(t.rows());
  x(k) = 1;
  for (int64_t i = k; i-- > 0;) {
    const Complex sum = t.row(i).segment(i + 1, k - i) * x.segment(i + 1, k - i);
    x(i) = -sum / Divisor(t(i, i) - t(k, k), t(k, k));
    Limit(i, &x);
  }
  return x;
}

// Solves x^H t = t(k, k) x^H for a triangular matrix.
ComplexVector LeftVector(const Matrix<Complex>& t, int64_t k) {
  ComplexVector x = ComplexVector::Zero(t.rows());
  x(k) = 1;
  for (int64_t i = k + 1; i < t.rows(); ++i) {
    const Complex sum = t.col(i).segment(k, i - k).dot(x.segment(k, i - k));
    x(i) = -sum / std::conj(Divisor(t(i, i) - t(k, k), t(k, k)));
    Limit(i, &x);
  }
  return x;
}

// The eigenvectors of length 1 in columns. The largest number of a vector is positive, unless both
// the matrix and the eigenvalue are real: then the vector is real. A real matrix has conjugate
// vectors for conjugate eigenvalues.
template <typename VectorOf>
Matrix<Complex> Eigenvectors(const SchurForm<Complex>& form, bool is_real,
                             const VectorOf& vector_of) {
  const int64_t n = form.t.rows();
  Matrix<Complex> vectors(n, n);
  for (int64_t k = 0; k < n; ++k) {
    const double imaginary = form.t(k, k).imag();
    if (is_real && imaginary < 0) {
      vectors.col(k) = vectors.col(k - 1).conjugate();
      continue;
    }
    ComplexVector vector = (form.u * vector_of(form.t, k)).normalized();
    if (is_real && imaginary == 0) {
      vector.imag().setZero();
    } else {
      Eigen::Index largest = 0;
      const double magnitude = vector.cwiseAbs().maxCoeff(&largest);
      vector *= std::conj(vector(largest)) / magnitude;
      vector(largest) = magnitude;
    }
    vectors.col(k) = vector;
  }
  return vectors;
}

// Outputs: eigenvalues; left and right eigenvectors in columns, which are zero unless they are
// asked for. Errors: INVALID_ARGUMENT for matrices that are not square.
class GeevKernel final : public OpKernel {
 public:
  explicit GeevKernel(const KernelBuild& build)
      : left_(build.attr<bool>("compute_left")), right_(build.attr<bool>("compute_right")) {
    CheckComplexOutput(build, 0);
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "a", true));
    ASSIGN_OR_RETURN(const Shape values_shape, MatrixBatch::ShapeOf(x, {batch.rows}));
    ASSIGN_OR_RETURN(Tensor* const w, ctx.AllocateOutput(0, values_shape));
    ASSIGN_OR_RETURN(Tensor* const left, ctx.AllocateOutput(1, x.shape()));
    ASSIGN_OR_RETURN(Tensor* const right, ctx.AllocateOutput(2, x.shape()));
    if (x.num_elements() == 0) return absl::OkStatus();
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() {
      ForEachMatrix(ctx, batch, [&](int64_t i) {
        const int64_t n = batch.rows;
        const Matrix<Complex> none = Matrix<Complex>::Zero(n, n);
        SchurForm<C> found;
        if (!FindSchurForm(batch.Read<T, C>(x, i), &found)) {
          WriteComplex(ComplexNans(n, 1), i, w);
          WriteComplex(left_ ? ComplexNans(n, n) : none, i, left);
          WriteComplex(right_ ? ComplexNans(n, n) : none, i, right);
          return;
        }
        constexpr bool kIsReal = std::is_floating_point_v<C>;
        const SchurForm<Complex> form = WithoutBlocks(found);
        WriteComplex(form.t.diagonal(), i, w);
        WriteComplex(left_ ? Eigenvectors(form, kIsReal, LeftVector) : none, i, left);
        WriteComplex(right_ ? Eigenvectors(form, kIsReal, RightVector) : none, i, right);
      });
      return absl::OkStatus();
    });
  }

 private:
  const bool left_, right_;
};
REGISTER_KERNEL("_LapackGeev", kCpu, GeevKernel);

// Outputs: the triangle T, which of a real matrix may have blocks of two rows; the Schur vectors;
// the eigenvalues. Errors: INVALID_ARGUMENT for matrices that are not square.
class GeesKernel final : public OpKernel {
 public:
  explicit GeesKernel(const KernelBuild& build) { CheckComplexOutput(build, 2); }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const MatrixBatch batch, MatrixBatch::Of(x, "a", true));
    ASSIGN_OR_RETURN(const Shape values_shape, MatrixBatch::ShapeOf(x, {batch.rows}));
    ASSIGN_OR_RETURN(Tensor* const t, ctx.AllocateOutput(0, x.shape()));
    ASSIGN_OR_RETURN(Tensor* const u, ctx.AllocateOutput(1, x.shape()));
    ASSIGN_OR_RETURN(Tensor* const w, ctx.AllocateOutput(2, values_shape));
    if (x.num_elements() == 0) return absl::OkStatus();
    return VisitLinearType(x.dtype(), [&]<typename T, typename C>() {
      ForEachMatrix(ctx, batch, [&](int64_t i) {
        const int64_t n = batch.rows;
        SchurForm<C> form;
        if (!FindSchurForm(batch.Read<T, C>(x, i), &form)) {
          WriteNans<T>(n * n, i, t);
          WriteNans<T>(n * n, i, u);
          WriteComplex(ComplexNans(n, 1), i, w);
          return;
        }
        if constexpr (std::is_floating_point_v<C>) StandardiseBlocks(&form);
        WriteMatrix<T, C>(form.t, i, t);
        WriteMatrix<T, C>(form.u, i, u);
        WriteComplex(WithoutBlocks(form).t.diagonal(), i, w);
      });
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("_LapackGees", kCpu, GeesKernel);

}  // namespace
}  // namespace tessera

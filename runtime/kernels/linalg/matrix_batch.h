// Kernels that work on each matrix of a batch [..., rows, columns], by Eigen.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/index_input.h"

namespace tessera {

// C is the type that computes. Most kernels take double or std::complex<double> for float matrices
// too: half the code, and the better digits. Those whose time matters compute in the precision of
// the matrices.
template <typename C>
using Matrix = Eigen::Matrix<C, Eigen::Dynamic, Eigen::Dynamic>;

// The matrices of a tensor.
struct MatrixBatch {
  int64_t count = 0, rows = 0, columns = 0;
  int batch_rank = 0;

  // Errors: INVALID_ARGUMENT, naming `name`, for less than two dimensions, or matrices that are not
  // square if they must be.
  static absl::StatusOr<MatrixBatch> Of(const Tensor& t, absl::string_view name,
                                        bool square = false) {
    if (t.rank() < 2 || (square && t.dim(t.rank() - 1) != t.dim(t.rank() - 2))) {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' must be ",
                                                     square ? "square matrices" : "matrices",
                                                     ", has shape ", t.shape().ToString()));
    }
    return MatrixBatch{DimProduct(t.shape(), 0, t.rank() - 2), t.dim(t.rank() - 2),
                       t.dim(t.rank() - 1), t.rank() - 2};
  }

  // The batch's shape, with further dimensions.
  static absl::StatusOr<Shape> ShapeOf(const Tensor& t, std::initializer_list<int64_t> last) {
    Shape shape;
    for (int i = 0; i + 2 < t.rank(); ++i) shape.AddDim(t.dim(i));
    for (int64_t size : last) shape.AddDim(size);
    return Shape::Make(shape.dims());
  }

  // Returns the approximate time of one factorisation in nanoseconds.
  double Cost() const {
    const double n = static_cast<double>(std::max(rows, columns));
    return 1 + 5 * n * n * n;
  }

  template <typename T, typename C>
  Matrix<C> Read(const Tensor& t, int64_t i) const {
    Matrix<C> matrix(rows, columns);
    const T* const from = t.data<T>() + i * rows * columns;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) matrix(r, c) = static_cast<C>(from[r * columns + c]);
    }
    return matrix;
  }
};

inline absl::Status UnfitSidesError(const Tensor& right, const Tensor& x) {
  return absl::InvalidArgumentError(
      absl::StrCat("right-hand sides of shape ", right.shape().ToString(),
                   " do not fit matrices of shape ", x.shape().ToString()));
}

// Returns the right-hand sides in `right`, one matrix of them for each matrix in `x`. Errors:
// INVALID_ARGUMENT if they are not matrices with as many rows, in a batch of the same shape.
inline absl::StatusOr<MatrixBatch> RightSidesOf(const Tensor& right, const Tensor& x) {
  ASSIGN_OR_RETURN(const MatrixBatch sides, MatrixBatch::Of(right, "rhs"));
  bool fits = right.rank() == x.rank() && sides.rows == x.dim(x.rank() - 2);
  for (int d = 0; fits && d < sides.batch_rank; ++d) fits = right.dim(d) == x.dim(d);
  if (!fits) return UnfitSidesError(right, x);
  return sides;
}

// Writes matrix i of a batch of matrices of its size.
template <typename T, typename C>
void WriteMatrix(const Matrix<C>& matrix, int64_t i, Tensor* to) {
  T* element = to->data<T>() + i * matrix.size();
  for (int64_t r = 0; r < matrix.rows(); ++r) {
    for (int64_t c = 0; c < matrix.cols(); ++c) *element++ = static_cast<T>(matrix(r, c));
  }
}

// Writes NaN for matrix i of a batch, which has no such factor, for example because it is not
// finite.
template <typename T>
void WriteNans(int64_t size, int64_t i, Tensor* to) {
  std::fill_n(to->data<T>() + i * size, size, static_cast<T>(std::nan("")));
}

// Calls visit.template operator()<T, C>() -> absl::Status with the type that stores `dtype` and the
// one that computes, for float, double and complex numbers of both. Errors: UNIMPLEMENTED for other
// dtypes.
template <typename Visitor>
absl::Status VisitLinearType(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kFloat:
      return visit.template operator()<float, double>();
    case DType::kDouble:
      return visit.template operator()<double, double>();
    case DType::kComplex64:
      return visit.template operator()<std::complex<float>, std::complex<double>>();
    case DType::kComplex128:
      return visit.template operator()<std::complex<double>, std::complex<double>>();
    default:
      return absl::UnimplementedError(
          absl::StrCat("not implemented for matrices of ", DTypeName(dtype)));
  }
}

}  // namespace tessera

// Cholesky factors and triangular systems of small real matrices, where Eigen's blocks do not pay.
#pragma once

#include <cstdint>

namespace tessera {

// Matrices with more rows than this are better left to Eigen.
inline constexpr int64_t kMaxSmallTriangle = 128;

// Replaces the lower triangle of a matrix of n rows, which lie one after the other, by its Cholesky
// factor. Elements above the diagonal are neither read nor written. Returns false, and leaves part
// of the work, if a pivot is not positive; a NaN counts as positive and spreads.
template <typename T>
bool SmallCholesky(int64_t n, T* matrix);

// A triangle of n rows. `lower` and `adjoint` are those of MatrixTriangularSolve: which triangle of
// the matrix is read, and whether it is its transpose that is solved for.
template <typename T>
struct SmallTriangle {
  const T* matrix;
  int64_t n;
  bool lower, adjoint;
};

// Replaces the n rows of `sides`, of `columns` numbers each, by the solutions. No element of the
// diagonal may be zero.
template <typename T>
void SolveSmallTriangle(const SmallTriangle<T>& triangle, int64_t columns, T* sides);

}  // namespace tessera

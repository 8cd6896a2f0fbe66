// Tridiagonal systems that may be singular.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/kernels/linalg/matrix_batch.h"

namespace tessera {

// Solves tridiagonal systems as LAPACK's xLAGTF and xLAGTS do: by elimination with scaled partial
// pivoting, in which pivots that are too small to be divided by are made larger. The solution of a
// singular system is finite then, as inverse iteration for eigenvectors needs it.
template <typename C>
class PerturbedTridiagonal {
 public:
  // Solves for all columns of *x in place. Rows of `diagonals` are the diagonal above the main one,
  // the main one, and the one below.
  static void Solve(const Matrix<C>& diagonals, Matrix<C>* x) {
    PerturbedTridiagonal system(diagonals);
    system.Eliminate(x);
    system.Substitute(x);
  }

 private:
  using Real = typename Eigen::NumTraits<C>::Real;
  using Row = Eigen::Matrix<C, 1, Eigen::Dynamic>;

  explicit PerturbedTridiagonal(const Matrix<C>& diagonals)
      : size_(diagonals.cols()),
        diagonals_(diagonals),
        main_(size_, C(0)),
        above_(size_, C(0)),
        second_(size_, C(0)) {}

  // An element of the diagonal above the main one; 0 behind its end.
  C Above(int64_t row) const { return row + 1 < size_ ? diagonals_(0, row) : C(0); }

  // Makes the matrix an upper triangular one with three diagonals.
  void Eliminate(Matrix<C>* x) {
    main_[0] = diagonals_(1, 0);
    above_[0] = Above(0);
    largest_ = std::max(std::abs(main_[0]), std::abs(above_[0]));
    Real scale = std::abs(main_[0]) + std::abs(above_[0]);
    for (int64_t row = 0; row + 1 < size_; ++row) {
      const C below = diagonals_(2, row + 1), next = diagonals_(1, row + 1), after = Above(row + 1);
      const Real next_scale = std::abs(below) + std::abs(next) + std::abs(after);
      const Real size_here = main_[row] == C(0) ? Real(0) : std::abs(main_[row]) / scale;
      if (below == C(0) || std::abs(below) / next_scale <= size_here) {
        main_[row + 1] = next;
        above_[row + 1] = after;
        if (below != C(0)) {
          const C factor = below / main_[row];
          main_[row + 1] -= factor * above_[row];
          x->row(row + 1) -= factor * x->row(row);
        }
        scale = next_scale;
      } else {
        const C factor = main_[row] / below;
        main_[row + 1] = above_[row] - factor * next;
        above_[row + 1] = -factor * after;
        main_[row] = below;
        above_[row] = next;
        second_[row] = after;
        x->row(row).swap(x->row(row + 1));
        x->row(row + 1) -= factor * x->row(row);
      }
      // The last row but one does not count.
      if (row + 2 >= size_) continue;
      for (const C element : {main_[row], above_[row], second_[row]}) {
        largest_ = std::max(largest_, std::abs(element));
      }
    }
    largest_ = std::max(largest_, std::abs(main_[size_ - 1]));
  }

  void Substitute(Matrix<C>* x) const {
    const Real step = std::numeric_limits<Real>::epsilon() * largest_;
    for (int64_t k = size_; k-- > 0;) {
      Row row = x->row(k);
      if (k + 1 < size_) row -= above_[k] * x->row(k + 1);
      if (k + 2 < size_) row -= second_[k] * x->row(k + 2);
      C pivot = main_[k];
      MakeDivisible(step, &pivot, &row);
      x->row(k) = row * (C(1) / pivot);
    }
  }

  // Adds `step` to the pivot, more and more of it, until dividing the row by it cannot overflow; a
  // pivot that is only too small for its inverse is scaled together with the row.
  static void MakeDivisible(Real step, C* pivot, Row* row) {
    constexpr Real kSmallest = std::numeric_limits<Real>::min();
    constexpr Real kLargest = 1 / kSmallest;
    const Real most = row->size() == 0 ? Real(0) : row->array().abs().maxCoeff();
    step = std::copysign(std::max(step, kSmallest), std::real(*pivot));
    for (Real size = std::abs(*pivot); size < 1; size = std::abs(*pivot)) {
      if (size >= kSmallest ? most <= size * kLargest : size != 0 && most * kSmallest <= size) {
        if (size < kSmallest) {
          *pivot *= kLargest;
          *row *= kLargest;
        }
        return;
      }
      *pivot += step;
      step *= 2;
    }
  }

  const int64_t size_;
  const Matrix<C>& diagonals_;
  std::vector<C> main_, above_, second_;  // of the triangular matrix
  Real largest_ = 0;                      // among their elements
};

}  // namespace tessera

// Schur decompositions: square matrices as U T U^H with a unitary U and a triangular T.
#pragma once

#include <cmath>
#include <complex>

#include "Eigen/Eigenvalues"
#include "runtime/kernels/linalg/matrix_batch.h"

namespace tessera {

// The T of a real matrix may have blocks of two rows on its diagonal, one for each pair of complex
// eigenvalues.
template <typename C>
struct SchurForm {
  Matrix<C> t, u;
};

// A pair of eigenvalues, real + imaginary * i and its conjugate.
struct EigenvaluePair {
  double real, imaginary;
};

// Whether a block of two rows starts in row k.
inline bool StartsBlock(const Matrix<double>& t, int64_t k) {
  return k + 1 < t.rows() && t(k + 1, k) != 0;
}

// The eigenvalues of the block of two rows that starts in row k.
inline EigenvaluePair EigenvaluesOfBlock(const Matrix<double>& t, int64_t k) {
  const double half = 0.5 * (t(k, k) - t(k + 1, k + 1));
  const double square = half * half + t(k, k + 1) * t(k + 1, k);
  return {t(k + 1, k + 1) + half, std::sqrt(std::abs(square))};
}

// Rotates rows and columns k and k + 1 of T by the unitary matrix `q`.
template <typename C>
void RotateBlock(const Eigen::Matrix<C, 2, 2>& q, int64_t k, SchurForm<C>* form) {
  const int64_t n = form->t.rows();
  form->t.block(k, k, 2, n - k) = (q.adjoint() * form->t.block(k, k, 2, n - k)).eval();
  form->t.block(0, k, k + 2, 2) = (form->t.block(0, k, k + 2, 2) * q).eval();
  form->u.middleCols(k, 2) = (form->u.middleCols(k, 2) * q).eval();
}

// Gives the elements on the diagonal of each block of two rows the same value, as LAPACK does.
inline void StandardiseBlocks(SchurForm<double>* form) {
  for (int64_t k = 0; k + 1 < form->t.rows(); ++k) {
    if (!StartsBlock(form->t, k)) continue;
    const EigenvaluePair pair = EigenvaluesOfBlock(form->t, k);
    const double half = 0.5 * (form->t(k, k) - form->t(k + 1, k + 1));
    const double sum = form->t(k, k + 1) + form->t(k + 1, k);
    const double angle = half == 0 ? 0 : 0.5 * std::atan(2 * half / sum);
    Eigen::Matrix2d rotation;
    rotation << std::cos(angle), std::sin(angle), -std::sin(angle), std::cos(angle);
    RotateBlock<double>(rotation, k, form);
    form->t(k, k) = form->t(k + 1, k + 1) = pair.real;
    ++k;
  }
}

// Returns false for a matrix that is not finite, or whose iteration does not end.
inline bool FindSchurForm(const Matrix<double>& matrix, SchurForm<double>* form) {
  if (!matrix.allFinite()) return false;
  const Eigen::RealSchur<Matrix<double>> schur(matrix);
  if (schur.info() != Eigen::Success) return false;
  *form = {schur.matrixT(), schur.matrixU()};
  return true;
}
inline bool FindSchurForm(const Matrix<std::complex<double>>& matrix,
                          SchurForm<std::complex<double>>* form) {
  if (!matrix.allFinite()) return false;
  const Eigen::ComplexSchur<Matrix<std::complex<double>>> schur(matrix);
  if (schur.info() != Eigen::Success) return false;
  *form = {schur.matrixT(), schur.matrixU()};
  return true;
}

// Returns a complex Schur form, whose T has no blocks. The eigenvalue with the positive imaginary
// part comes first in a pair.
inline SchurForm<std::complex<double>> WithoutBlocks(SchurForm<std::complex<double>> form) {
  return form;
}
inline SchurForm<std::complex<double>> WithoutBlocks(const SchurForm<double>& real) {
  using Complex = std::complex<double>;
  SchurForm<Complex> form{real.t.cast<Complex>(), real.u.cast<Complex>()};
  for (int64_t k = 0; k + 1 < real.t.rows(); ++k) {
    if (!StartsBlock(real.t, k)) continue;
    const EigenvaluePair pair = EigenvaluesOfBlock(real.t, k);
    const Complex eigenvalue(pair.real, pair.imaginary);
    Eigen::Vector2cd vector(eigenvalue - real.t(k + 1, k + 1), real.t(k + 1, k));
    vector.normalize();
    Eigen::Matrix2cd rotation;
    rotation << vector(0), -std::conj(vector(1)), vector(1), std::conj(vector(0));
    RotateBlock<Complex>(rotation, k, &form);
    form.t(k, k) = eigenvalue;
    form.t(k + 1, k + 1) = std::conj(eigenvalue);
    form.t(k + 1, k) = 0;
    ++k;
  }
  return form;
}

}  // namespace tessera

// Expressions of linear algebra, for translations. Matrices are the last two dimensions.
#pragma once

#include "runtime/stablehlo/translator.h"

namespace tessera::stablehlo {

// Whether there are kernels of linear algebra for the dtype: floats and complex numbers of single
// and double precision.
bool IsLinearType(DType dtype);

// The transposes of matrices, and their conjugates.
Expr TransposedMatrices(Translator& t, const Expr& x, int rank);
Expr AdjointMatrices(Translator& t, const Expr& x, int rank);

// The Cholesky factors of Hermitian matrices of which one triangle is read, which is also that of
// the factors. It is NaN for a matrix that is not positive definite; the other triangle is 0.
Expr CholeskyFactors(Translator& t, const Expr& x, int rank, bool lower);

// A system op(matrix) x = sides, or x op(matrix) = sides unless `left`.
struct TriangularSystem {
  Expr matrix, sides;
  int rank = 2;  // of both
  bool left = true;
  bool lower = false;          // which triangle is read
  bool unit_diagonal = false;  // the diagonal is not read
  bool transpose = false;      // op transposes ...
  bool conjugate = false;      // ... and conjugates
};
Expr Solution(Translator& t, TriangularSystem system);

}  // namespace tessera::stablehlo

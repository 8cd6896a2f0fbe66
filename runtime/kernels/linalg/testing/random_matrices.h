// Matrices for tests, and tensors of them.
#pragma once

#include <complex>
#include <random>
#include <vector>

#include "runtime/kernels/linalg/matrix_batch.h"

namespace tessera {

inline void Draw(std::mt19937& random, double* number) {
  *number = std::normal_distribution<double>()(random);
}
inline void Draw(std::mt19937& random, std::complex<double>* number) {
  std::normal_distribution<double> normal;
  *number = {normal(random), normal(random)};
}

// Normally distributed numbers, the same for the same sizes.
template <typename C>
Tensor RandomMatrices(int64_t count, int64_t rows, int64_t columns) {
  std::mt19937 random(static_cast<uint32_t>(rows * 1000 + columns));
  std::vector<C> numbers(count * rows * columns);
  for (C& number : numbers) Draw(random, &number);
  return Tensor::Of<C>({count, rows, columns}, numbers);
}

// Matrix i of a batch.
template <typename C>
Matrix<C> MatrixAt(const Tensor& matrices, int64_t i) {
  return MatrixBatch::Of(matrices, "matrices").value().Read<C, C>(matrices, i);
}

// Vector i of a batch, as a column.
template <typename C>
Matrix<C> VectorAt(const Tensor& vectors, int64_t i) {
  const int64_t size = vectors.dim(vectors.rank() - 1);
  return Eigen::Map<const Matrix<C>>(vectors.data<C>() + i * size, size, 1);
}

}  // namespace tessera

// Tensors of float or half as matrices of floats, and back.
#pragma once

#include <algorithm>

#include "Eigen/Core"
#include "runtime/kernels/nn/lstm_cell.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// Returns `rows` times `cols` elements of a float or half tensor, beginning with element `first`.
inline RowMatrix ReadMatrix(const Tensor& tensor, int64_t first, int64_t rows, int64_t cols) {
  if (tensor.dtype() == DType::kFloat) {
    return Eigen::Map<const RowMatrix>(tensor.data<float>() + first, rows, cols);
  }
  RowMatrix matrix(rows, cols);
  std::copy_n(tensor.data<Eigen::half>() + first, rows * cols, matrix.data());
  return matrix;
}

inline Eigen::RowVectorXf ReadRow(const Tensor& vector) {
  return ReadMatrix(vector, 0, 1, vector.num_elements()).row(0);
}

// Writes a matrix or row to a float or half tensor, beginning with element `first`.
template <typename Matrix>
void WriteMatrix(const Matrix& matrix, int64_t first, Tensor* tensor) {
  if (tensor->dtype() == DType::kFloat) {
    std::copy_n(matrix.data(), matrix.size(), tensor->data<float>() + first);
  } else {
    std::transform(matrix.data(), matrix.data() + matrix.size(),
                   tensor->data<Eigen::half>() + first,
                   [](float x) { return static_cast<Eigen::half>(x); });
  }
}

}  // namespace tessera

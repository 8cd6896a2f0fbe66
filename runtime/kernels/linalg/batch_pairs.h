// Batches of matrices and of right-hand sides that broadcast together.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// The pairs of a matrix and a right-hand side that make each output of a solver, in order.
struct BatchPairs {
  std::vector<int64_t> matrix, side;

  // Returns the shape of the output: the batch, and a right-hand side. Both tensors have at least
  // two dimensions. Errors: INVALID_ARGUMENT if the batches do not broadcast.
  static absl::StatusOr<Shape> OutputShape(const Tensor& matrices, const Tensor& sides);
  // Takes memory for each matrix of the batch, even if the matrices are empty. Requires an output
  // of this shape.
  BatchPairs(const Tensor& matrices, const Tensor& sides, const Shape& output);
};

}  // namespace tessera

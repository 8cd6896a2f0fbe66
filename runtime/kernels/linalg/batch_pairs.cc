#include "runtime/kernels/linalg/batch_pairs.h"

#include <utility>

#include "runtime/base/status.h"
#include "runtime/kernels/broadcast.h"

namespace tessera {
namespace {

// The dimensions before those of the matrices.
absl::StatusOr<Shape> BatchShape(const Tensor& t) {
  return Shape::Make(t.shape().dims().first(t.rank() - 2));
}

// A dimension of the batch, counted as those of the output's batch of this rank; 1 where the tensor
// has none.
int64_t BatchDim(const Tensor& t, int d, int rank) {
  const int own = d - (rank - (t.rank() - 2));
  return own < 0 ? 1 : t.dim(own);
}

}  // namespace

absl::StatusOr<Shape> BatchPairs::OutputShape(const Tensor& matrices, const Tensor& sides) {
  ASSIGN_OR_RETURN(const Shape matrix_batch, BatchShape(matrices));
  ASSIGN_OR_RETURN(const Shape side_batch, BatchShape(sides));
  ASSIGN_OR_RETURN(Shape shape, BroadcastShape(matrix_batch, side_batch));
  for (const int d : {2, 1}) shape.AddDim(sides.dim(sides.rank() - d));
  return shape;
}

BatchPairs::BatchPairs(const Tensor& matrices, const Tensor& sides, const Shape& output)
    : matrix{0}, side{0} {
  const int rank = output.rank() - 2;
  for (int d = 0; d < rank; ++d) {
    const int64_t a = BatchDim(matrices, d, rank), b = BatchDim(sides, d, rank);
    std::vector<int64_t> next_matrix, next_side;
    for (size_t i = 0; i < matrix.size(); ++i) {
      for (int64_t k = 0; k < output.dim(d); ++k) {
        next_matrix.push_back(matrix[i] * a + (a == 1 ? 0 : k));
        next_side.push_back(side[i] * b + (b == 1 ? 0 : k));
      }
    }
    matrix = std::move(next_matrix);
    side = std::move(next_side);
  }
}

}  // namespace tessera

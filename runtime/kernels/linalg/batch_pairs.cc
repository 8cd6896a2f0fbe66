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

absl::StatusOr<BatchPairs> BatchPairs::Of(const Tensor& matrices, const Tensor& sides) {
  ASSIGN_OR_RETURN(const Shape matrix_batch, BatchShape(matrices));
  ASSIGN_OR_RETURN(const Shape side_batch, BatchShape(sides));
  ASSIGN_OR_RETURN(const Shape batch, BroadcastShape(matrix_batch, side_batch));
  BatchPairs pairs = {.matrix = {0}, .side = {0}, .shape = batch};
  for (int d = 0; d < batch.rank(); ++d) {
    const int64_t a = BatchDim(matrices, d, batch.rank()), b = BatchDim(sides, d, batch.rank());
    std::vector<int64_t> matrix, side;
    for (size_t i = 0; i < pairs.matrix.size(); ++i) {
      for (int64_t k = 0; k < batch.dim(d); ++k) {
        matrix.push_back(pairs.matrix[i] * a + (a == 1 ? 0 : k));
        side.push_back(pairs.side[i] * b + (b == 1 ? 0 : k));
      }
    }
    pairs.matrix = std::move(matrix);
    pairs.side = std::move(side);
  }
  for (const int d : {2, 1}) pairs.shape.AddDim(sides.dim(sides.rank() - d));
  return pairs;
}

}  // namespace tessera

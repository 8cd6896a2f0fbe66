// Loops over the matrices of a batch.
#pragma once

#include "runtime/kernels/linalg/matrix_batch.h"

namespace tessera {

// Calls body(i) for each matrix of the batch, on the intra-op threads of the step.
template <typename Body>
void ForEachMatrix(KernelContext& ctx, const MatrixBatch& batch, const Body& body) {
  ctx.ParallelFor(batch.count, batch.Cost(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace tessera

// Batched matrix products by oneDNN, in chunks that several threads compute.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/cpu/matmul_batch.h"
#include "runtime/kernels/primitives/cpu/onednn_product.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// Chunks of a batch are ranges of the matrices of each run, or of the rows or the columns of each
// matrix. This says which.
enum class ChunkAxis { kMatrices, kRows, kColumns };

// A batch that is split into chunks for oneDNN.
struct OneDnnBatch {
  MatMulShape given;
  MatMulBatch batch;
  ChunkAxis axis = ChunkAxis::kMatrices;
  int64_t length = 0;      // matrices in a run, or rows or columns of a matrix
  int64_t chunks = 1;      // in a run
  int64_t size = 0;        // length of a chunk; the last one may be shorter
  double nanoseconds = 0;  // for a chunk
  PostOps rest;            // an activation that is applied to each chunk
  std::shared_ptr<const onednn::Product> product, last_product;
};

// Splits the products of float of a batch into chunks. `packs_b` tells that the right-hand side is
// constant, and is kept in the format that oneDNN wants. NumPoolThreads() gives `threads`. Errors:
// those of creating a primitive.
absl::StatusOr<OneDnnBatch> SplitForOneDnn(const MatMulShape& given, const PostOps& post_ops,
                                           bool packs_b, int threads);

// Computes the products. `bias` is null unless the batch was split with one; `packed` is null
// unless it was split with packs_b. Errors: RESOURCE_EXHAUSTED for scratch memory.
absl::Status MultiplyOneDnn(KernelContext& ctx, const OneDnnBatch& split, const float* a,
                            const Tensor& b, const float* bias, PackedWeights* packed, float* out);

// Computes products of bfloat16. They are summed in float and rounded once. `bias` is null unless
// post_ops.bias. `packed` keeps the right-hand side in the format that oneDNN wants; if it is null,
// each chunk packs the right-hand side. Requires AVX-512. Errors: those of MultiplyOneDnn().
absl::Status MultiplyBfloat16(KernelContext& ctx, const MatMulShape& s, const PostOps& post_ops,
                              const Tensor& a, const Tensor& b, const Tensor* bias,
                              PackedWeights* packed, Tensor* output);

}  // namespace tessera

// Products with constant weights by split_float.h, on the step's threads.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/cpu/packed_weights.h"
#include "runtime/kernels/cpu/post_ops.h"
#include "runtime/kernels/cpu/split_float.h"

namespace tessera {

// Floats that one core splits in a nanosecond, about: what loops that split reckon with.
inline constexpr double kSplitFloatsANanosecond = 3;

// True if the processor has AMX for bfloat16, the system lets this process use it, and oneDNN was
// not told to keep to less (ONEDNN_MAX_CPU_ISA), which turns this off as well.
bool SplitProductsAreSupported();

// True if `taps` products of m x k and k x n floats are expected to gain: where they are supported
// and work enough is done with each float to make splitting it worth the time. Packed weights take
// one and a half times the memory of plain ones.
bool SplitProductPays(int64_t m, int64_t n, int64_t k, int64_t taps);

// The weights split and packed, once for as long as they stay the same; empty if they have no
// split, for infinities, NaNs or very large numbers among them. `weights` are in the memory of
// `tensor`. Errors: RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> PackSplit(KernelContext& ctx, const Tensor& tensor,
                                 const split::Weights& weights, PackedWeights* packed);

// Where rows of a product go. Output (image, y, x) is made of the row image * image_step +
// y * row_step + x, and lies in out as an array [images, height, width, columns]. Rows between go
// nowhere.
struct OutputGrid {
  int64_t images = 1, image_step = 0;
  int64_t height = 1, row_step = 0;
  int64_t width = 0;
};

// Of how many rows at once the parts should be made, that they stay in the cache while they are
// multiplied: at least split::kRows.
int64_t RowsAtOnce(const KernelContext& ctx, int64_t taps, int64_t terms, int64_t columns);

// Items (rows, images) [first, first + count) of a product.
using ComputeItems =
    absl::FunctionRef<absl::Status(KernelContext& ctx, int64_t first, int64_t count)>;

// Computes `count` items, of which each makes `rows` rows. Where there are enough of them every
// thread is given its own, and computes them alone: then what it splits stays in its cache.
// Otherwise compute() is called for all, and may share them out as it likes.
absl::Status ShareItems(KernelContext& ctx, int64_t count, int64_t rows, ComputeItems compute);

// Makes the outputs of `grid`, of all terms.
void MultiplySplit(KernelContext& ctx, const split::Product& product, const OutputGrid& grid,
                   const PostOps& post_ops, const float* bias, float* out);

// output = activation(a * b + bias + output) for a of m x k and b of k x n, or n x k if
// `transpose_b`. Rows that have no split, or all if b has none, are left to compute_exactly(),
// which may be called by several threads at once. Errors: its own; RESOURCE_EXHAUSTED for scratch
// memory.
absl::Status MatMulSplit(KernelContext& ctx, int64_t m, int64_t n, int64_t k, bool transpose_b,
                         const PostOps& post_ops, const float* a, const Tensor& b,
                         const float* bias, PackedWeights* packed, float* output,
                         ComputeItems compute_exactly);

}  // namespace tessera

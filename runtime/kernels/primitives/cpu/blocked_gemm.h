// The blocked GEMM driver: products with constant packed weights by a micro-kernel
// (micro_kernel.h), on the step's threads.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/micro_kernel.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// Returns the packed weights, which are packed once for as long as they stay the same. The result
// is empty if the micro-kernel rejects them. `weights` describes the layout of `given`. Errors:
// RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> PackWeights(KernelContext& ctx, const gemm::MicroKernel& kernel,
                                   const ScaledWeights& given, gemm::Weights weights,
                                   PackedWeights* packed);

// Maps the rows of a product to outputs. Output (image, y, x) is computed from the row image *
// image_stride + y * row_stride + x and is stored in an array [images, height, width, columns].
// Rows between them are dropped.
struct OutputGrid {
  int64_t images = 1, image_stride = 0;
  int64_t height = 1, row_stride = 0;
  int64_t width = 0;
};

// Returns the number of rows to multiply in one pass of a product with `length` rows, chosen so
// that these rows stay in the cache. At least kMaxRows.
int64_t RowsPerPass(const KernelContext& ctx, const gemm::MicroKernel& kernel, int64_t length,
                    int64_t positions, int64_t depth, int64_t columns);

// Computes the items (rows or images) [first, first + count) of a product.
using ComputeItems =
    absl::FunctionRef<absl::Status(KernelContext& ctx, int64_t first, int64_t count)>;

// The number of rows for which it pays to read all weights.
inline constexpr int64_t kMinRowsPerThread = 96;

// Computes `count` items of `rows` rows each. If there are enough of them, every thread gets the
// same number of items, of at least `min_rows` rows together, and computes them alone, so that
// its packed rows stay in its cache. Otherwise compute() is called once for all items, and may
// parallelise the work itself.
absl::Status ParallelItems(KernelContext& ctx, int64_t count, int64_t rows, ComputeItems compute,
                           int64_t min_rows = kMinRowsPerThread);

// Computes the outputs of `grid` over the whole depth.
void BlockedGemm(KernelContext& ctx, const gemm::MicroKernel& kernel, const gemm::Product& product,
                 const OutputGrid& grid, const PostOps& post_ops, const float* bias, float* out);

// A matrix product with weights of k x n, or n x k if `transpose_b`.
struct GemmArguments {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_b = false;
  const PostOps& post_ops;
  const float* a = nullptr;
  const ScaledWeights& b;
  const float* bias = nullptr;
  PackedWeights* packed = nullptr;
  float* output = nullptr;
};

// Returns the packed weights of a product; see PackWeights().
absl::StatusOr<Tensor> PackMatrix(KernelContext& ctx, const gemm::MicroKernel& kernel,
                                  const GemmArguments& arguments);

// Computes output = activation(a * b + bias + output). Rows that the micro-kernel rejects are left
// to fallback(), and so are all rows if it rejects `b`. Several threads may call fallback() at
// once.
// Errors: those of fallback(); RESOURCE_EXHAUSTED for scratch memory.
absl::Status BlockedMatMul(KernelContext& ctx, const gemm::MicroKernel& kernel,
                           const GemmArguments& arguments, ComputeItems fallback);

// Does what BlockedMatMul() does by Strassen's algorithm, for weights that StrassenSupports().
absl::Status StrassenMatMul(KernelContext& ctx, const GemmArguments& arguments,
                            ComputeItems fallback);

}  // namespace tessera

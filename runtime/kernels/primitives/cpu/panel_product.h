// Products with constant weights by the kernels of panel_kernel.h, on the step's threads.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/packed_weights.h"
#include "runtime/kernels/primitives/cpu/panel_kernel.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

// Floats that one core makes ready or packs in a nanosecond, about: what loops reckon with.
inline constexpr double kPackedFloatsANanosecond = 3;

// True if the processor has AMX for bfloat16, the system lets this process use it, and oneDNN was
// not told to keep to less (ONEDNN_MAX_CPU_ISA), which turns this off as well.
bool SplitPanelsAreSupported();
// The same of AVX-512.
bool FloatPanelsAreSupported();

// The kernel for `taps` matrices of k x n weights, of which `rows` is how many rows they multiply
// for one image or text: split panels where work enough is done with each float to make splitting
// it worth the time, panels of float where weights are many next to the rows. Null where oneDNN is
// expected to be as fast, or nothing is supported. Does not depend on how many come at once, so
// that weights are packed in one form.
const panel::PanelKernel* PanelKernelFor(int64_t n, int64_t k, int64_t taps, int64_t rows);

// True if products of m rows are enough to gain by `kernel`, too.
bool HasRowsEnough(const panel::PanelKernel& kernel, int64_t m, int64_t n, int64_t k, int64_t taps);

// The weights packed, once for as long as they stay the same; empty if the kernel has no products
// of them. `weights` says how the elements of `given` lie. Errors: RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> PackPanels(KernelContext& ctx, const panel::PanelKernel& kernel,
                                  const ScaledWeights& given, panel::Weights weights,
                                  PackedWeights* packed);

// Where rows of a product go. Output (image, y, x) is made of the row image * image_step +
// y * row_step + x, and lies in out as an array [images, height, width, columns]. Rows between go
// nowhere.
struct OutputGrid {
  int64_t images = 1, image_step = 0;
  int64_t height = 1, row_step = 0;
  int64_t width = 0;
};

// Of how many rows at once a product of `length` is best made, that they stay in the cache while
// they are multiplied. At least kMostRows.
int64_t RowsAtOnce(const KernelContext& ctx, const panel::PanelKernel& kernel, int64_t length,
                   int64_t taps, int64_t terms, int64_t columns);

// Items (rows, images) [first, first + count) of a product.
using ComputeItems =
    absl::FunctionRef<absl::Status(KernelContext& ctx, int64_t first, int64_t count)>;

// Rows that make up for reading all weights.
inline constexpr int64_t kLeastSharedRows = 96;

// Computes `count` items, of which each makes `rows` rows. Where there are enough of them every
// thread is given as many of its own, that make `least_rows` or more, and computes them alone: then
// what it makes ready stays in its cache. Otherwise compute() is called for all, and may share them
// out as it likes.
absl::Status ShareItems(KernelContext& ctx, int64_t count, int64_t rows, ComputeItems compute,
                        int64_t least_rows = kLeastSharedRows);

// Makes the outputs of `grid`, of all terms.
void MultiplyPanels(KernelContext& ctx, const panel::PanelKernel& kernel,
                    const panel::Product& product, const OutputGrid& grid, const PostOps& post_ops,
                    const float* bias, float* out);

// output = activation(a * b + bias + output) for a of m x k and b of k x n, or n x k if
// `transpose_b`. Rows that the kernel has no products of, or all if it has none of b, are left to
// compute_exactly(), which may be called by several threads at once. Errors: its own;
// RESOURCE_EXHAUSTED for scratch memory.
absl::Status MatMulPanels(KernelContext& ctx, const panel::PanelKernel& kernel, int64_t m,
                          int64_t n, int64_t k, bool transpose_b, const PostOps& post_ops,
                          const float* a, const ScaledWeights& b, const float* bias,
                          PackedWeights* packed, float* output, ComputeItems compute_exactly);

}  // namespace tessera

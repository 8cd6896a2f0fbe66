#include "runtime/kernels/primitives/cpu/transposed_gemm.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/cpu/post_op_rows.h"
#include "runtime/kernels/primitives/cpu/simd_loops.h"
#include "runtime/kernels/primitives/cpu/transposed_micro_kernel.h"

namespace tessera {
namespace {

using gemm::kBlock;

// The largest number of rows that are multiplied by one panel after the other, while their part of
// the left-hand side stays in the second-level cache.
constexpr int64_t kGroupRows = 140;
// The number of panels that are packed together. Their next terms stay in the second-level cache
// until they are packed.
constexpr int64_t kGroupPanels = 8;

// A product and its post-ops. The rows of two terms lie `a_step` floats apart.
struct Operands {
  int64_t m, n, k;
  const float* a;
  int64_t a_step;
  const float *b, *bias;
  PostOps post_ops;
  float* out;
};

// A range of rows, columns or terms.
struct Range {
  int64_t begin, count;
};

// Returns part number `part` of `whole`, which is cut into `parts` of about equal length.
Range ShareOf(const Range& whole, int64_t part, int64_t parts) {
  const int64_t begin = whole.count * part / parts, end = whole.count * (part + 1) / parts;
  return {whole.begin + begin, end - begin};
}

// Returns the range to prefetch for some rows of a matrix with `columns` columns, `count` of which
// are needed.
gemm::PrefetchRange Prefetched(const float* matrix, int64_t columns, const Range& rows,
                               const Range& wanted) {
  constexpr int64_t kBytes = sizeof(float);
  return {.at = matrix + rows.begin * columns + wanted.begin,
          .count = rows.count,
          .size = wanted.count * kBytes,
          .step = columns * kBytes};
}

// Adds some terms of the products of a group of rows and some columns, and prefetches the terms
// that come next.
void AddTerms(const Operands& o, const Range& rows, int64_t block_rows, const Range& columns,
              const Range& terms) {
  alignas(64) float panel[gemm::kTransposedDepth * kBlock];
  const int64_t blocks = (rows.count + block_rows - 1) / block_rows;
  const int64_t parts = gemm::Blocks(columns.count) * blocks;
  const int64_t next = terms.begin + terms.count;
  const Range next_terms = {next, std::min(gemm::kTransposedDepth, o.k - next)};
  const bool adds = o.post_ops.add || o.bias != nullptr;
  int64_t part = 0;
  for (int64_t column = 0; column < columns.count; column += kBlock) {
    const Range width = {columns.begin + column, std::min(kBlock, columns.count - column)};
    for (int64_t row = 0; row < rows.count; row += block_rows, ++part) {
      const Range share = ShareOf(next_terms, part, parts);
      gemm::TransposedMicroKernelForCpu().multiply(
          {.rows = std::min(block_rows, rows.count - row),
           .columns = width.count,
           .depth = terms.count,
           .a = o.a + terms.begin * o.a_step + rows.begin + row,
           .a_step = o.a_step,
           .b = row == 0 ? o.b + terms.begin * o.n + width.begin : nullptr,
           .b_step = o.n,
           .panel = panel,
           .out = o.out + (rows.begin + row) * o.n + width.begin,
           .out_step = o.n,
           .add = adds || terms.begin > 0,
           .next = {Prefetched(o.b, o.n, share, columns), Prefetched(o.a, o.a_step, share, rows)}});
    }
  }
}

// Computes the outputs of some rows and columns.
void ComputeGroup(const Operands& o, const Range& rows, int64_t block_rows, const Range& columns) {
  const auto for_each_row = [&](auto&& apply) {
    for (int64_t i = 0; i < rows.count; ++i) {
      apply(o.out + (rows.begin + i) * o.n + columns.begin);
    }
  };
  if (o.bias != nullptr) {
    for_each_row(
        [&](float* sums) { StartSums(o.post_ops, o.bias + columns.begin, columns.count, sums); });
  }
  for (int64_t term = 0; term < o.k; term += gemm::kTransposedDepth) {
    AddTerms(o, rows, block_rows, columns, {term, std::min(gemm::kTransposedDepth, o.k - term)});
  }
  for_each_row([&](float* sums) { FinishSums(o.post_ops, columns.count, sums); });
}

void Multiply(KernelContext& ctx, const Operands& o) {
  const int64_t panels = gemm::Blocks(o.n);
  const int64_t block_rows = gemm::EqualBlocks(o.m, gemm::TransposedMicroKernelForCpu().max_rows);
  const int64_t group_rows = kGroupRows / block_rows * block_rows;
  const double nanoseconds =
      2.0 * static_cast<double>(o.m * kBlock * o.k) / SpeedsForCpu().fma_flops;
  ctx.ParallelFor(panels, nanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; panel += kGroupPanels) {
      const int64_t column = panel * kBlock;
      const int64_t next_column = std::min(std::min(panel + kGroupPanels, end) * kBlock, o.n);
      for (int64_t row = 0; row < o.m; row += group_rows) {
        ComputeGroup(o, {row, std::min(group_rows, o.m - row)}, block_rows,
                     {column, next_column - column});
      }
    }
  });
}

}  // namespace

void TransposedGemm(KernelContext& ctx, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, bool add, float* output) {
  Multiply(ctx, {.m = m,
                 .n = n,
                 .k = k,
                 .a = a,
                 .a_step = m,
                 .b = b,
                 .bias = nullptr,
                 .post_ops = {.add = add},
                 .out = output});
}

absl::Status TransposingGemm(KernelContext& ctx, int64_t m, int64_t n, int64_t k,
                             const PostOps& post_ops, const float* a, const float* b,
                             const float* bias, float* output) {
  const simd::Loops& loops = simd::LoopsForCpu();
  const int64_t blocks = (m + loops.lanes - 1) / loops.lanes, step = blocks * loops.lanes;
  ASSIGN_OR_RETURN(Tensor transposed, ctx.AllocateTemp(DType::kFloat, {k, step}));
  float* const to = transposed.data<float>();
  const double nanoseconds = static_cast<double>(loops.lanes * k) / SpeedsForCpu().packed_floats;
  ctx.ParallelFor(blocks, nanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin * loops.lanes; row < std::min(end * loops.lanes, m);
         row += loops.lanes) {
      loops.transpose({.rows = std::min(loops.lanes, m - row),
                       .columns = k,
                       .from = a + row * k,
                       .from_stride = k,
                       .to = to + row,
                       .to_stride = step});
    }
  });
  Multiply(ctx, {.m = m,
                 .n = n,
                 .k = k,
                 .a = to,
                 .a_step = step,
                 .b = b,
                 .bias = bias,
                 .post_ops = post_ops,
                 .out = output});
  return absl::OkStatus();
}

}  // namespace tessera

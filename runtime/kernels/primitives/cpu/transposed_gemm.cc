#include "runtime/kernels/primitives/cpu/transposed_gemm.h"

#include <algorithm>

#include "runtime/kernels/primitives/cpu/machine_speeds.h"
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

struct Operands {
  int64_t m, n, k;
  const float *a, *b;
  bool add;
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
  int64_t part = 0;
  for (int64_t column = 0; column < columns.count; column += kBlock) {
    const Range width = {columns.begin + column, std::min(kBlock, columns.count - column)};
    for (int64_t row = 0; row < rows.count; row += block_rows, ++part) {
      const Range share = ShareOf(next_terms, part, parts);
      gemm::TransposedMicroKernelForCpu().multiply(
          {.rows = std::min(block_rows, rows.count - row),
           .columns = width.count,
           .depth = terms.count,
           .a = o.a + terms.begin * o.m + rows.begin + row,
           .a_step = o.m,
           .b = row == 0 ? o.b + terms.begin * o.n + width.begin : nullptr,
           .b_step = o.n,
           .panel = panel,
           .out = o.out + (rows.begin + row) * o.n + width.begin,
           .out_step = o.n,
           .add = o.add || terms.begin > 0,
           .next = {Prefetched(o.b, o.n, share, columns), Prefetched(o.a, o.m, share, rows)}});
    }
  }
}

}  // namespace

void TransposedGemm(KernelContext& ctx, int64_t m, int64_t n, int64_t k, const float* a,
                    const float* b, bool add, float* output) {
  const Operands operands = {m, n, k, a, b, add, output};
  const int64_t panels = gemm::Blocks(n);
  const int64_t block_rows = gemm::EqualBlocks(m, gemm::TransposedMicroKernelForCpu().max_rows);
  const int64_t group_rows = kGroupRows / block_rows * block_rows;
  const double nanoseconds = 2.0 * static_cast<double>(m * kBlock * k) / SpeedsForCpu().fma_flops;
  ctx.ParallelFor(panels, nanoseconds, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; panel += kGroupPanels) {
      const int64_t column = panel * kBlock;
      const Range columns = {column,
                             std::min(std::min(panel + kGroupPanels, end) * kBlock, n) - column};
      for (int64_t row = 0; row < m; row += group_rows) {
        const Range rows = {row, std::min(group_rows, m - row)};
        for (int64_t term = 0; term < k; term += gemm::kTransposedDepth) {
          AddTerms(operands, rows, block_rows, columns,
                   {term, std::min(gemm::kTransposedDepth, k - term)});
        }
      }
    }
  });
}

}  // namespace tessera

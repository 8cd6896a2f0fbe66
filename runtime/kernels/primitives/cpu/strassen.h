// One block step of Strassen's algorithm in Winograd's form (S. Winograd, "On multiplication of 2 x
// 2 matrices", 1971) on AVX-512 or AVX2: rows, columns and depth are halved, and seven products of
// quarters and of their sums replace eight products of quarters.
//
// The two halves of the rows are two consecutive row blocks, and the two halves of the columns are
// two panels of weights (fma_micro_kernel.h). Each row is added to a partner in the other block,
// and each column to one in the other panel. The error of an output is therefore relative to the
// larger of the two partners: a sum is within a few units in the last place of |row| * |column|,
// times at most kBalance for the rows and kBalance for the columns. Pairs that differ by more than
// that, or that hold an infinity or a NaN, are multiplied directly, while the other pairs are not
// affected. So are rows whose largest elements meet small weights alone: their norm says nothing of
// the output.
#pragma once

#include <span>

#include "runtime/kernels/primitives/cpu/micro_kernel.h"
#include "runtime/kernels/primitives/cpu/prefetch.h"

namespace tessera::strassen {

// The approximate ratio up to which the largest elements of two partners may differ.
inline constexpr int kBalance = 32;
// Half the depth must be a multiple of this number.
inline constexpr int64_t kDepthMultiple = 16;

// Plain rows, `step` floats apart.
struct Rows {
  const float* data = nullptr;
  int64_t step = 0;
};

// Two blocks of `count` rows each with a depth of 2 * half, and their prepared sums.
struct RowPair {
  int64_t count = 0, half = 0;
  float* workspace = nullptr;  // the caller's buffer of row_pair_floats()
  Rows quarters[2][2];         // block, half of the depth
  int64_t second = 0;          // the second block's first row
  // The magnitude of the weights that each of the 2 * half terms is multiplied by, from 0 to 1.
  const float* magnitudes = nullptr;
  bool is_balanced = false;
};

// Terms of two panels, 2 * half of each, and the sums of their columns. A panel without a partner
// is a pair whose second panel is null, and which is not balanced.
struct PanelPair {
  int64_t half = 0;
  float* workspace = nullptr;   // the caller's buffer of PanelPairFloats()
  const float* panels[2] = {};  // packed; read for as long as the pair is used
  int64_t depth = 0;            // of the packed panels
  int64_t first = 0;            // the first of the 2 * half terms that are multiplied
  bool is_balanced = false;     // from panels_are_balanced()
  bool has_sums = false;        // set by multiply()
};

// Returns the distance, in floats, from one sum of weights to the next. It is chosen so that the
// sums do not all start in the same sets of the first-level cache.
static inline int64_t WeightStride(int64_t half) { return half * gemm::kBlock + 48; }
// The floats of the four sums of a pair's weights.
static inline int64_t PanelPairFloats(int64_t half) { return 4 * WeightStride(half); }

// The output: rows of `columns` elements, which is the number of columns of the whole product.
struct Outputs {
  int64_t columns = 0;
  int64_t first_panel = 0;  // the index of the pair's first panel
  Epilogue epilogue;
  float* out = nullptr;  // of the pair's first row
};

// The step for one instruction set. Pure functions.
struct BlockStep {
  int64_t max_rows;  // the largest number of rows in a block
  int64_t strips;    // of a panel, as those of the micro-kernel

  int64_t (*row_pair_floats)(int64_t count, int64_t half, int64_t row_stride);

  // Prepares the pair, whose `count`, `half`, `workspace` and `magnitudes` are set. The pair reads
  // `rows` for as long as it is used. There are `available` rows, 2 * count or one less; in the
  // latter case the two blocks share one row.
  void (*make_row_pair)(const Rows& rows, int64_t available, RowPair* pair);

  // Returns true if the columns of the two panels may be added to their partners. Only the first
  // `columns` columns of the second panel are considered.
  bool (*panels_are_balanced)(int64_t columns, const PanelPair& pair);

  // Multiplies the pairs and prefetches `next` meanwhile. The first call for a pair of panels whose
  // sums are needed computes them: while it multiplies if the row blocks have max_rows rows, so
  // that the panels are read from memory in the shadow of the products.
  void (*multiply)(const RowPair& rows, PanelPair* panels,
                   std::span<const gemm::PrefetchRange> next, const Outputs& outputs);
};

// Returns the step for the processor, by the entry of machine_speeds.h.
const BlockStep& BlockStepForCpu();

// The steps for the instruction sets, which the processor must have.
namespace avx512 {
extern const BlockStep kBlockStep;
}
namespace avx2 {
extern const BlockStep kBlockStep;
}

}  // namespace tessera::strassen

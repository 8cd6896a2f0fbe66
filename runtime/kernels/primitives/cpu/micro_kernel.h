// The micro-kernel of a blocked GEMM whose right-hand side is packed once, in panels of columns.
// There are two implementations: amx_micro_kernel.h for AMX, and fma_micro_kernel.h for AVX-512 and
// AVX2.
// The driver that calls them is blocked_gemm.h.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/cpu/epilogue.h"
#include "runtime/kernels/primitives/cpu/prefetch.h"

namespace tessera::gemm {

// The number of columns in a panel, and also the block size along the depth (the summed dimension).
inline constexpr int64_t kBlock = 32;
// The largest row block of any micro-kernel, and the largest whose sums stay in registers.
inline constexpr int64_t kMaxRows = 32;
inline constexpr int64_t kFmaRows = 14;

static inline int64_t Blocks(int64_t count) { return (count + kBlock - 1) / kBlock; }

// Returns the size of the smallest number of equal blocks, of at most `most` rows, that cover
// `length` rows.
static inline int64_t EqualBlocks(int64_t length, int64_t most) {
  const int64_t blocks = (length + most - 1) / most;
  return blocks == 0 ? most : (length + blocks - 1) / blocks;
}

// The left-hand side as a micro-kernel reads it.
struct Rows {
  void* data = nullptr;  // the caller's buffer of PackedRowsSize() bytes, or the plain floats
  int64_t count = 0;
  int64_t depth = 0;
};

// The right-hand side before packing: `positions` matrices of depth x columns, one after the other
// in `data`. Element (i, j) of a matrix is at i * row_stride + j * column_stride. A matrix product
// has one position; a convolution has one for each position of its filter.
struct Weights {
  const float* data = nullptr;
  int64_t positions = 1, depth = 0, columns = 0;
  int64_t row_stride = 0, column_stride = 1;
};

// The operands of a GEMM. For each position, the rows are shifted and multiplied by the matrix of
// this position, and the products of all positions are summed.
struct Product {
  Rows rows;
  const char* weights = nullptr;  // packed
  int64_t positions = 1, columns = 0;
  const int64_t* shifts =
      nullptr;  // one for each position, in rows; null if no position shifts the rows
  // The range of depth blocks to sum, the same for all positions. Further calls add the other
  // blocks.
  int64_t first_block = 0, end_block = 0;
  PrefetchRange prefetch;  // the weights to prefetch during the multiplication
  // Read the weights from the last one to the first one, and sum the products in this order. Loops
  // over the same weights that change the direction each time find the last of them in the
  // first-level cache. Only MultiplyPanels() of skinny rows does so; others ignore it.
  bool backwards = false;
};

// The functions of one implementation. It has no state, and is therefore thread-safe.
class MicroKernel {
 public:
  // Bytes of the packed weights. All panels have the same size.
  virtual int64_t PackedSize(int64_t positions, int64_t depth, int64_t columns) const = 0;
  // Returns the number of equal parts of a panel, each of which holds some of the columns for the
  // whole depth.
  virtual int64_t strips() const { return 1; }
  // Packs panels [begin, end). `packed` is the address of panel 0. Returns false if the
  // micro-kernel cannot multiply by some of the values.
  virtual bool Pack(const Weights& weights, int64_t begin, int64_t end, char* packed) const = 0;

  // Returns the largest number of rows for which MultiplyPanels() is faster than MultiplyBlock(),
  // because the sums of a single panel are too few to hide the latency of an addition.
  virtual int64_t skinny_rows() const { return 0; }
  // Returns the number of rows that take as long as one row.
  virtual int64_t row_granularity() const = 0;
  // Returns the row block size, at most kMaxRows, that suits a run of `length` rows.
  virtual int64_t RowBlockSize(int64_t length) const = 0;
  // Bytes of `count` packed rows, including the padding that is read beyond them.
  virtual int64_t PackedRowsSize(int64_t count, int64_t depth) const = 0;
  // Returns true if contiguous rows need no packing.
  virtual bool ReadsRowsInPlace(int64_t depth) const = 0;
  // Packs `count` rows into the rows that start at `row`. The source rows begin `step` floats
  // apart. Returns false if the micro-kernel cannot multiply some of the values.
  virtual bool PackRows(const float* from, int64_t step, int64_t row, int64_t count,
                        const Rows& rows) const = 0;
  // Fills packed rows with zeros.
  virtual void ClearRows(int64_t row, int64_t count, const Rows& rows) const = 0;

  // Computes the rows [first, first + count) of one panel. Row i of them is stored at out +
  // row_offsets[i], or not at all if that is negative. Must be called between ConfigureTiles() and
  // ReleaseTiles() on this thread.
  virtual void MultiplyBlock(const Product& product, int64_t first, int64_t count, int64_t panel,
                             const int64_t* row_offsets, const Epilogue& epilogue,
                             float* out) const = 0;
  // Computes the rows of the panels [panel, end). For at most skinny_rows() rows this is faster
  // than panel by panel; the results are the same to the last bit.
  virtual void MultiplyPanels(const Product& product, int64_t first, int64_t count, int64_t panel,
                              int64_t end, const int64_t* row_offsets, const Epilogue& epilogue,
                              float* out) const;
  virtual void ConfigureTiles() const = 0;
  virtual void ReleaseTiles() const = 0;

 protected:
  ~MicroKernel() = default;
};

}  // namespace tessera::gemm

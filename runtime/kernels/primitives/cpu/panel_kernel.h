// Products of rows with matrices that are packed once, panel by panel of columns: what they are
// made of, and how a block of one is computed. There are two kernels: split_float.h, on AMX, and
// float_panels.h, on AVX-512.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/cpu/ending.h"

namespace tessera::panel {

// Columns of a panel. Terms of sums go in blocks of as many.
inline constexpr int64_t kBlock = 32;
// Rows that any kernel computes at once, at most.
inline constexpr int64_t kMostRows = 32;

inline int64_t Blocks(int64_t count) { return (count + kBlock - 1) / kBlock; }

// Rows as a kernel reads them.
struct Rows {
  void* data = nullptr;  // the caller's, of RowsSize() bytes, or the floats themselves as they lie
  int64_t count = 0;
  int64_t terms = 0;
};

// Weights: `taps` matrices of terms x columns, one after the other in `data`, element (i, j) of a
// matrix at i * row_step + j * column_step.
struct Weights {
  const float* data = nullptr;
  int64_t taps = 1, terms = 0, columns = 0;
  int64_t row_step = 0, column_step = 1;
};

// A product: for each tap, rows moved by its shift times its matrix, all added up.
struct Product {
  Rows rows;
  const char* weights = nullptr;  // packed
  int64_t taps = 1, columns = 0;
  const int64_t* shifts = nullptr;  // in rows, one for each tap; null: none moves
  // Blocks of terms, the same of all taps, that are added up. Others wait for another call.
  int64_t first_block = 0, end_block = 0;
  // Weights that are needed next, to bring into the cache meanwhile.
  const char* ahead = nullptr;
  int64_t ahead_bytes = 0;
};

// Thread-safe: has no state.
class PanelKernel {
 public:
  // Operations that one core does in a nanosecond, about.
  virtual double flops_a_nanosecond() const = 0;

  // Bytes of packed weights; a panel has the same share as any other.
  virtual int64_t PackedSize(int64_t taps, int64_t terms, int64_t columns) const = 0;
  // Packs panels [begin, end); `packed` is where panel 0 goes. False if there are weights that this
  // kernel can't give the right products of.
  virtual bool Pack(const Weights& weights, int64_t begin, int64_t end, char* packed) const = 0;

  // Rows that take no longer than one does, beside each other.
  virtual int64_t rows_together() const = 0;
  // Into how many rows at once a run of them is best cut, at most kMostRows.
  virtual int64_t BlockRows(int64_t length) const = 0;
  // Bytes of `count` rows, and of what is read beyond them.
  virtual int64_t RowsSize(int64_t count, int64_t terms) const = 0;
  // True if rows that lie one after the other need not be put anywhere.
  virtual bool TakesRowsAsTheyLie(int64_t terms) const = 0;
  // Makes ready `count` rows from `row` on, of floats that begin `step` apart. False as Pack().
  virtual bool Put(const float* from, int64_t step, int64_t row, int64_t count,
                   const Rows& rows) const = 0;
  // Makes rows of zeros.
  virtual void Clear(int64_t row, int64_t count, const Rows& rows) const = 0;

  // Computes rows [first, first + count) in the columns of one panel. Row i of these goes to out +
  // places[i], or nowhere if that is negative. Only between Begin() and End() on this thread.
  virtual void MultiplyBlock(const Product& product, int64_t first, int64_t count, int64_t panel,
                             const int64_t* places, const Ending& ending, float* out) const = 0;
  virtual void Begin() const = 0;
  virtual void End() const = 0;

 protected:
  ~PanelKernel() = default;
};

}  // namespace tessera::panel

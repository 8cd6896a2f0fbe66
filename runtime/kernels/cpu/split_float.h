// Matrix products of float on AMX, which multiplies bfloat16 alone: each float is the sum of three.
//
// A float x is split into bfloat16s high = round(x), middle = round(x - high) and low = round(x -
// high - middle), 8 bits each, which together are x. Of the nine products of parts that make x * y
// the six largest are computed, exactly, and added up in float as the terms of other sums are; what
// is left out is within 2^-24 of |x * y|. So a sum is as good as one of products of float. After
// Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For
// Higher-Precision Computations", 2019.
//
// Everything here needs a processor with AMX, AVX-512 and its bfloat16 instructions, and the
// system's leave to use tiles: see SplitProductsAreSupported() in split_product.h.
#pragma once

#include <cstdint>

#include "runtime/kernels/cpu/ending.h"

namespace tessera::split {

// Terms of sums are worked on in blocks of this many, and so are columns of weights (a panel).
inline constexpr int64_t kBlock = 32;
// Rows of a product that MultiplyBlock() makes at once.
inline constexpr int64_t kRows = 32;

inline int64_t Blocks(int64_t count) { return (count + kBlock - 1) / kBlock; }

// Bfloat16s that a float becomes.
inline constexpr int64_t kParts = 3;

// Rows that were split, in memory of the caller's. For each block of terms there are planes of the
// high, the middle and the low parts of all rows, kBlock a row.
struct Rows {
  uint16_t* data = nullptr;
  int64_t count = 0;  // in a plane; kRows more than are used, for whole blocks are read

  // Of uint16_t, for `terms` terms a row.
  static int64_t Size(int64_t count, int64_t terms) {
    return kParts * Blocks(terms) * count * kBlock;
  }
  int64_t plane() const { return count * kBlock; }
  // The high part of a row in a block.
  uint16_t* at(int64_t block, int64_t row) const {
    return data + kParts * block * plane() + row * kBlock;
  }
};

// Splits `terms` (at most kBlock) floats of each of `count` rows, which begin `step` floats apart,
// and fills up with zeros; parts go `plane` elements apart. False if a float is no number, or 2^62
// or more: these have no split. Denormal parts become 0.
bool SplitRows(const float* from, int64_t step, int64_t count, int64_t terms, int64_t plane,
               uint16_t* to);

// Weights: `taps` matrices of terms x columns, one after the other in `data`, element (i, j) of a
// matrix at i * row_step + j * column_step.
struct Weights {
  const float* data = nullptr;
  int64_t taps = 1, terms = 0, columns = 0;
  int64_t row_step = 0, column_step = 1;
};

// Elements of uint16_t that PackWeights() writes: one and a half times the weights' bytes, and what
// fills up blocks.
int64_t PackedSize(int64_t taps, int64_t terms, int64_t columns);

// Splits panels [begin, end) of weights for MultiplyBlock(); `packed` is where panel 0 goes. False
// as SplitRows().
bool PackWeights(const Weights& weights, int64_t begin, int64_t end, uint16_t* packed);

// A product: for each tap, rows moved by its shift times its matrix, all added up.
struct Product {
  Rows rows;
  const uint16_t* weights = nullptr;  // packed
  int64_t taps = 1, terms = 0, columns = 0;
  const int64_t* shifts = nullptr;  // in rows, one for each tap; null: none moves
  // Blocks of terms, the same of all taps, that are added up. Others wait for another call.
  int64_t first_block = 0, end_block = 0;
  // Weights that are needed next: what to bring into the cache beside each block of terms.
  const uint16_t* ahead = nullptr;
  int64_t ahead_step = 0;  // elements; 0: nothing
};

// Computes rows [first, first + count), count <= kRows, in the columns of one panel. Row i of these
// goes to out + places[i], or nowhere if that is negative. Only between Begin() and End().
void MultiplyBlock(const Product& product, int64_t first, int64_t count, int64_t panel,
                   const int64_t* places, const Ending& ending, float* out);

// Sets up this thread's tiles, and gives them back.
void Begin();
void End();

}  // namespace tessera::split

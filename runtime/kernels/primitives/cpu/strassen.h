// Products by Strassen's algorithm in Winograd's form (S. Winograd, "On multiplication of 2 x 2
// matrices", 1971), on AVX-512: rows, columns and terms are halved, and seven products of quarters
// and of their sums make what eight of quarters would.
//
// Two blocks of rows that follow each other are the two halves of rows, and two panels of weights
// (float_panels.h) those of columns. Each row is added to a partner in the other block, and each
// column to one in the other panel, so that the error of what a row makes is relative to the larger
// of the two: sums are off by some units in the last place of |row| * |column|, times at most
// kBalance for each of both. What differs from its partner by more than that, and rows with an
// infinity or a NaN, are multiplied in the plain way, beside the others of their block.
//
// Pure functions, for processors with AVX-512.
#pragma once

#include <span>

#include "runtime/kernels/primitives/cpu/next_rows.h"
#include "runtime/kernels/primitives/cpu/panel_kernel.h"

namespace tessera::strassen {

// By how much the largest elements of partners may differ, about.
inline constexpr int kBalance = 32;
// Rows of a block, at most.
inline constexpr int64_t kMostRows = 14;
// Halves of terms are a multiple of this.
inline constexpr int64_t kTermsMultiple = 16;

// Rows as they lie, `step` floats apart.
struct Rows {
  const float* data = nullptr;
  int64_t step = 0;
};

// Two blocks of `count` rows each, of 2 * half terms, made ready.
struct RowPair {
  int64_t count = 0, half = 0;
  float* room = nullptr;  // the caller's, of RowPairFloats()
  Rows quarters[2][2];    // block, half of the terms
  int64_t second = 0;     // the second block's first row
  bool is_balanced = false;
};
int64_t RowPairFloats(int64_t count, int64_t half, int64_t row_step);

// Makes the pair of `count`, `half` and `room`. It reads `rows`, of which there are `available`,
// 2 * count or one less, for as long as it is used. If there is one less both blocks have one.
void MakeRowPair(const Rows& rows, int64_t available, RowPair* pair);

// Two panels, 2 * half terms of each, made ready.
struct PanelPair {
  int64_t half = 0;
  float* room = nullptr;        // the caller's, of PanelPairFloats()
  const float* panels[2] = {};  // as they are packed
  bool is_balanced = false;
};
int64_t PanelPairFloats(int64_t half);

// Makes the pair of `half`, `room` and `panels`, which it reads for as long as it is used. Of the
// second panel's columns the first `columns` count.
void MakePanelPair(int64_t columns, PanelPair* pair);

// Where a product goes: to rows of `columns` elements, all that the whole product has.
struct Outputs {
  int64_t columns = 0;
  int64_t first_panel = 0;  // that of the pair's first one
  Ending ending;
  float* out = nullptr;  // of the pair's first row
};

// Multiplies the pairs, and brings what is needed next.
void Multiply(const RowPair& rows, const PanelPair& panels, std::span<const panel::NextRows> next,
              const Outputs& outputs);

}  // namespace tessera::strassen

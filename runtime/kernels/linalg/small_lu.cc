#include "runtime/kernels/linalg/small_lu.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tessera {
namespace {

constexpr int64_t kPanel = 4;  // columns whose pivots are found before the rest is updated

// The columns of a panel, each contiguous, from the panel's first row on.
template <typename T>
using Panel = T[kPanel][kMaxSmallLu];

// Returns the position of the first number of the largest magnitude. Magnitudes are compared as
// integers, which orders them alike and vectorises; a NaN counts as the largest.
template <typename T>
int64_t LargestMagnitude(const T* numbers, int64_t size) {
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  constexpr Bits kMagnitude = ~(Bits{1} << (8 * sizeof(T) - 1));
  Bits largest = 0;
  for (int64_t i = 0; i < size; ++i) {
    largest = std::max(largest, std::bit_cast<Bits>(numbers[i]) & kMagnitude);
  }
  int64_t i = 0;
  while ((std::bit_cast<Bits>(numbers[i]) & kMagnitude) != largest) ++i;
  return i;
}

// Factors a panel of `width` columns and `height` rows. swap_rows(k, pivot) exchanges two rows of
// what lies outside of it.
template <typename T, typename SwapRows>
void FactorPanel(int64_t width, int64_t height, Panel<T>& panel, const SwapRows& swap_rows) {
  for (int64_t k = 0; k < width; ++k) {
    T* const column = panel[k];
    const int64_t pivot_row = k + LargestMagnitude(column + k, height - k);
    if (pivot_row != k) {
      for (int64_t c = 0; c < width; ++c) std::swap(panel[c][k], panel[c][pivot_row]);
      swap_rows(k, pivot_row);
    }
    const T pivot = column[k];
    if (pivot == 0) continue;
    for (int64_t i = k + 1; i < height; ++i) column[i] /= pivot;
    for (int64_t c = k + 1; c < width; ++c) {
      T* const next = panel[c];
      const T factor = next[k];
      for (int64_t i = k + 1; i < height; ++i) next[i] -= column[i] * factor;
    }
  }
}

// row -= factors * (the kPanel rows at `upper`, `stride` apart), for kRows rows at once: more rows
// use what is loaded of the upper ones more often.
template <int kRows, typename T>
inline void SubtractRows(const T (&factors)[kRows][kPanel], const T* __restrict upper,
                         int64_t stride, int64_t columns, T* __restrict rows) {
  for (int64_t j = 0; j < columns; ++j) {
    const T u0 = upper[j], u1 = upper[stride + j], u2 = upper[2 * stride + j],
            u3 = upper[3 * stride + j];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      rows[r * stride + j] = rows[r * stride + j] - factors[r][0] * u0 - factors[r][1] * u1 -
                             factors[r][2] * u2 - factors[r][3] * u3;
    }
  }
}

// Solves for the upper factor right of a panel, and updates the rows below by it.
template <typename T>
void UpdateRest(int64_t n, int64_t first, const Panel<T>& panel, T* matrix) {
  const int64_t columns = n - first - kPanel;
  T* const upper = matrix + first * n + first + kPanel;
  for (int64_t r = 1; r < kPanel; ++r) {
    for (int64_t s = 0; s < r; ++s) {
      const T factor = panel[s][r];
      for (int64_t j = 0; j < columns; ++j) upper[r * n + j] -= factor * upper[s * n + j];
    }
  }
  const auto subtract = [&]<int kRows>(int64_t i) {
    T factors[kRows][kPanel];
    for (int r = 0; r < kRows; ++r) {
      for (int64_t k = 0; k < kPanel; ++k) factors[r][k] = panel[k][i + r];
    }
    SubtractRows<kRows, T>(factors, upper, n, columns, upper + i * n);
  };
  int64_t i = kPanel;
  for (; i + 2 <= n - first; i += 2) subtract.template operator()<2>(i);
  if (i < n - first) subtract.template operator()<1>(i);
}

}  // namespace

template <typename T>
void SmallLu(int64_t n, T* matrix, int64_t* order) {
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  Panel<T> panel;
  for (int64_t first = 0; first < n; first += kPanel) {
    const int64_t width = std::min(kPanel, n - first), height = n - first;
    T* const corner = matrix + first * n + first;
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t c = 0; c < width; ++c) panel[c][i] = corner[i * n + c];
    }
    FactorPanel(width, height, panel, [&](int64_t k, int64_t pivot_row) {
      T* const row = matrix + (first + k) * n;
      std::swap_ranges(row, row + n, matrix + (first + pivot_row) * n);
      std::swap(order[first + k], order[first + pivot_row]);
    });
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t c = 0; c < width; ++c) corner[i * n + c] = panel[c][i];
    }
    if (height > kPanel) UpdateRest(n, first, panel, matrix);
  }
}
template void SmallLu(int64_t, float*, int64_t*);
template void SmallLu(int64_t, double*, int64_t*);

}  // namespace tessera

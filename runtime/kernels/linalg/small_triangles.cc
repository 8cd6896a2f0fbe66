#include "runtime/kernels/linalg/small_triangles.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace tessera {
namespace {

constexpr int kVectors = 2;  // of a row of right-hand sides that are solved for at once

template <typename T>
struct VectorOf {
  typedef T Type __attribute__((vector_size(32)));
  static constexpr int kLanes = 32 / sizeof(T);
};

// Right-hand sides side by side, a row of which stays in registers.
template <typename T>
struct Panel {
  static constexpr int kColumns = kVectors * VectorOf<T>::kLanes;
  struct Row {
    typename VectorOf<T>::Type vectors[kVectors];
  };
  Row rows[kMaxSmallTriangle];
};

// Element (i, j) of a lower triangle. Strides may be negative.
template <typename T>
struct Elements {
  const T* origin;
  int64_t row_stride, column_stride;

  T operator()(int64_t i, int64_t j) const { return origin[i * row_stride + j * column_stride]; }
};

// *sum -= factor * row
template <typename Row, typename T>
inline void Subtract(T factor, const Row& row, Row* sum) {
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) sum->vectors[v] -= factor * row.vectors[v];
}

// Solves for kRows rows at once, from row i on, when those before are solved for: more rows use
// what is loaded of those before more often.
template <int kRows, typename T>
void SolveRows(const Elements<T>& elements, int64_t i, Panel<T>* panel) {
  typename Panel<T>::Row sums[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) sums[r] = panel->rows[i + r];
  for (int64_t j = 0; j < i; ++j) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) Subtract(elements(i + r, j), panel->rows[j], &sums[r]);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int s = 0; s < r; ++s) Subtract(elements(i + r, i + s), sums[s], &sums[r]);
    const T pivot = elements(i + r, i + r);
    for (auto& vector : sums[r].vectors) vector /= pivot;
    panel->rows[i + r] = sums[r];
  }
}

}  // namespace

template <typename T>
bool SmallCholesky(int64_t n, T* matrix) {
  T column[kMaxSmallTriangle];
  for (int64_t k = 0; k < n; ++k) {
    T* const pivot_row = matrix + k * n;
    if (pivot_row[k] <= 0) return false;
    const T root = std::sqrt(pivot_row[k]);
    pivot_row[k] = root;
    for (int64_t i = k + 1; i < n; ++i) column[i] = matrix[i * n + k];
    for (int64_t i = k + 1; i < n; ++i) column[i] /= root;
    for (int64_t i = k + 1; i < n; ++i) {
      T* const row = matrix + i * n;
      const T factor = column[i];
      row[k] = factor;
      for (int64_t j = k + 1; j <= i; ++j) row[j] -= factor * column[j];
    }
  }
  return true;
}
template bool SmallCholesky(int64_t, float*);
template bool SmallCholesky(int64_t, double*);

template <typename T>
void SolveSmallTriangle(const SmallTriangle<T>& triangle, int64_t columns, T* sides) {
  const int64_t n = triangle.n;
  Elements<T> elements{triangle.matrix, n, 1};
  if (triangle.adjoint) std::swap(elements.row_stride, elements.column_stride);
  // From the last row to the first an upper triangle is a lower one.
  const bool is_upper = triangle.lower == triangle.adjoint;
  if (is_upper) {
    elements.origin += n * n - 1;
    elements.row_stride = -elements.row_stride;
    elements.column_stride = -elements.column_stride;
  }
  const auto row_of = [&](int64_t i) { return sides + (is_upper ? n - 1 - i : i) * columns; };
  Panel<T> panel;
  for (int64_t first = 0; first < columns; first += Panel<T>::kColumns) {
    const int64_t width = std::min<int64_t>(Panel<T>::kColumns, columns - first);
    for (int64_t i = 0; i < n; ++i) {
      T* const row = reinterpret_cast<T*>(&panel.rows[i]);
      std::copy_n(row_of(i) + first, width, row);
      std::fill(row + width, row + Panel<T>::kColumns, T{0});
    }
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) SolveRows<4>(elements, i, &panel);
    for (; i < n; ++i) SolveRows<1>(elements, i, &panel);
    for (int64_t i = 0; i < n; ++i) {
      std::copy_n(reinterpret_cast<const T*>(&panel.rows[i]), width, row_of(i) + first);
    }
  }
}
template void SolveSmallTriangle(const SmallTriangle<float>&, int64_t, float*);
template void SolveSmallTriangle(const SmallTriangle<double>&, int64_t, double*);

}  // namespace tessera

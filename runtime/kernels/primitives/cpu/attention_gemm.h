// Products of rows with the matrix of one attention head.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "runtime/kernels/primitives/cpu/simd_loops.h"

namespace tessera {

// A matrix in panels (simd_loops.h) that many rows are multiplied by.
//
//   HeadMatrix keys(loops, features, num_keys);
//   keys.PackTransposed(key, key_stride, workspace);  // workspace of keys.size() floats
//   keys.Multiply(query, query_stride, num_queries, scores, scores_stride);
class HeadMatrix {
 public:
  HeadMatrix(const simd::Loops& loops, int64_t depth, int64_t columns);

  // The number of floats that the packed matrix takes.
  int64_t size() const { return depth_ * vectors_ * loops_.lanes; }

  // Both functions set the matrix and copy it to `workspace`. Its rows, or for PackTransposed() its
  // columns, begin `step` floats apart in `from`.
  void Pack(const float* from, int64_t step, float* workspace);
  void PackTransposed(const float* from, int64_t step, float* workspace);
  // Uses the matrix where it lies, which is better for few rows. It must outlive the products.
  // Returns false if the matrix must be packed, because its last columns do not fill a vector.
  bool UseInPlace(const float* from, int64_t step);

  // out = rows * matrix, for `count` rows. Panel i prefetches element i of `prefetch`, or a part of
  // it if there are few rows.
  void Multiply(const float* rows, int64_t row_stride, int64_t count, float* out,
                int64_t out_stride, std::initializer_list<simd::PrefetchRows> prefetch = {}) const;

 private:
  // A range of columns.
  struct Panel {
    int64_t column = 0, vectors = 0;
  };
  Panel PanelAt(int64_t index) const;

  const simd::Loops& loops_;
  const int64_t depth_, columns_;
  const int64_t vectors_, panels_;
  bool is_packed_ = false;
  const float* data_ = nullptr;
  int64_t step_ = 0;  // 0 if the matrix is packed
};

}  // namespace tessera

// The softmax of attention scores, fused with their scale and masks.
#pragma once

#include <cstdint>

namespace tessera {

// A mask for the scores of some rows. A stride of 0 broadcasts a value.
template <typename T>
struct ScoreMask {
  const T* first = nullptr;
  int64_t row_stride = 0;
  int64_t step = 0;  // from score to score, 0 or 1
};

// The scores of some queries, one row for each query.
struct ScoreRows {
  float* scores = nullptr;
  int64_t rows = 0;
  int64_t count = 0;  // scores in a row
  // The distance between rows. Each row has space for `count` rounded up to a multiple of
  // kScoreLanes.
  int64_t step = 0;
  float scale = 1;
  const ScoreMask<float>* masks = nullptr;  // added to the scores
  int64_t num_masks = 0;
  ScoreMask<bool> keep;  // `masked` replaces scores where this is false; null: it replaces none
  float masked = 0;
  // If not null, SoftmaxScores() leaves the exponentials as they are, and sets shares[row] to the
  // factor that makes them the softmax.
  float* shares = nullptr;
};

inline constexpr int64_t kScoreLanes = 16;

// Replaces each row by softmax(keep ? scale * scores + masks : masked). A row that holds a NaN, or
// infinities that leave the softmax undefined, becomes NaN. The padding between rows is
// overwritten. Compiled for AVX-512 (F, BW, DQ and VL) and for AVX2.
// ScaleRows() multiplies `rows` rows of `count` values, `step` apart, by their factors.
namespace avx512 {
void SoftmaxScores(const ScoreRows& rows);
void ScaleRows(const float* factors, int64_t rows, int64_t count, int64_t step, float* values);
}  // namespace avx512
namespace avx2 {
void SoftmaxScores(const ScoreRows& rows);
void ScaleRows(const float* factors, int64_t rows, int64_t count, int64_t step, float* values);
}  // namespace avx2

}  // namespace tessera

// From an attention's scores to its weights: scale, masks and softmax in one go.
#pragma once

#include <cstdint>

namespace tessera {

// A value for each score of some rows, or one for several: steps of 0 repeat it.
template <typename T>
struct ScoreMask {
  const T* first = nullptr;
  int64_t row_step = 0;
  int64_t step = 0;  // from score to score, 0 or 1
};

// Scores of some queries, a row each.
struct ScoreRows {
  float* scores = nullptr;
  int64_t rows = 0;
  int64_t count = 0;  // in a row
  // From row to row: room for `count`, rounded up to a multiple of kScoreLanes.
  int64_t step = 0;
  float scale = 1;
  const ScoreMask<float>* masks = nullptr;  // what is added
  int64_t num_masks = 0;
  ScoreMask<bool> keep;  // where `masked` takes the place of scores; null: nowhere
  float masked = 0;
};

inline constexpr int64_t kScoreLanes = 16;

// Replaces each row by softmax(keep ? scale * scores + masks : masked). A NaN makes all of its row
// NaN, and so do infinities that leave no number. What lies between rows is overwritten.
// Compiled for AVX-512 (F, BW, DQ and VL), and for what every processor here has.
namespace avx512 {
void WeighScores(const ScoreRows& rows);
}
namespace avx2 {
void WeighScores(const ScoreRows& rows);
}

}  // namespace tessera

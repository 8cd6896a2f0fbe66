#include "runtime/kernels/cpu/attention_weights.h"

#include <cstring>

// What differs between instruction sets.
#ifdef __AVX512F__
#define TESSERA_VECTOR_ABI avx512
#else
#define TESSERA_VECTOR_ABI avx2
#endif
#include "runtime/kernels/cpu/vector_math.h"

namespace tessera::TESSERA_VECTOR_ABI {
namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16;
#define TESSERA_LANE_NUMBERS \
  { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }
#else
constexpr int kLanes = 8;
#define TESSERA_LANE_NUMBERS \
  { 0, 1, 2, 3, 4, 5, 6, 7 }
#endif
static_assert(kScoreLanes % kLanes == 0);
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
typedef int32_t Lanes __attribute__((vector_size(kLanes * sizeof(int32_t))));
constexpr Lanes kNumbers = TESSERA_LANE_NUMBERS;

inline Vector Load(const float* from) {
  Vector vector;
  std::memcpy(&vector, from, sizeof(vector));
  return vector;
}
inline void Store(Vector vector, float* to) { std::memcpy(to, &vector, sizeof(vector)); }

// reduce() of all lanes, in each lane.
template <typename Reduce>
inline Vector Everywhere(Vector x, Reduce reduce) {
#pragma GCC unroll 4
  for (int half = kLanes / 2; half > 0; half /= 2) {
    x = reduce(x, __builtin_shuffle(x, kNumbers ^ half));
  }
  return x;
}

// x = factor * x + mask, a row.
void AddMask(const float* mask, int64_t mask_step, float factor, int64_t count, float* x) {
  if (mask_step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) x[i] = factor * x[i] + mask[i];
  } else {
    const float same = *mask;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) x[i] = factor * x[i] + same;
  }
}

// x = keep ? x : masked, a row.
void Select(const bool* keep, int64_t keep_step, float masked, int64_t count, float* x) {
  if (keep_step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) x[i] = keep[i] ? x[i] : masked;
  } else if (!*keep) {
    for (int64_t i = 0; i < count; ++i) x[i] = masked;
  }
}

// x = softmax(x) of a whole number of vectors.
void Softmax(int64_t count, float* x) {
  Vector greatest = Vector{} - math::kInf;
  for (int64_t i = 0; i < count; i += kLanes) {
    const Vector next = Load(x + i);
    greatest = next > greatest ? next : greatest;  // passes over a NaN, which is found again below
  }
  const float bound = Everywhere(greatest, [](Vector a, Vector b) { return b > a ? b : a; })[0];
  Vector sums{};
  for (int64_t i = 0; i < count; i += kLanes) {
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      x[i + lane] = math::ExpOfNegative(x[i + lane] - bound);
    }
    sums += Load(x + i);
  }
  const Vector factors = 1.0f / Everywhere(sums, [](Vector a, Vector b) { return a + b; });
  for (int64_t i = 0; i < count; i += kLanes) Store(Load(x + i) * factors, x + i);
}

void WeighRow(const ScoreRows& s, int64_t row) {
  float* const x = s.scores + row * s.step;
  float factor = s.scale;
  for (int64_t i = 0; i < s.num_masks; ++i) {
    const ScoreMask<float>& mask = s.masks[i];
    AddMask(mask.first + row * mask.row_step, mask.step, factor, s.count, x);
    factor = 1;
  }
  if (factor != 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < s.count; ++i) x[i] *= factor;
  }
  if (s.keep.first != nullptr) {
    Select(s.keep.first + row * s.keep.row_step, s.keep.step, s.masked, s.count, x);
  }
  const int64_t whole = (s.count + kLanes - 1) / kLanes * kLanes;
  for (int64_t i = s.count; i < whole; ++i) x[i] = -math::kInf;
  Softmax(whole, x);
}

}  // namespace

void WeighScores(const ScoreRows& rows) {
  for (int64_t row = 0; row < rows.rows; ++row) WeighRow(rows, row);
}

}  // namespace tessera::TESSERA_VECTOR_ABI

#include "runtime/kernels/primitives/cpu/attention_softmax.h"

// The namespace of this instruction set.
#ifdef __AVX512F__
#define TESSERA_VECTOR_ABI avx512
#else
#define TESSERA_VECTOR_ABI avx2
#endif
#include "runtime/kernels/primitives/cpu/simd_vectors.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"

namespace tessera::TESSERA_VECTOR_ABI {
namespace {

static_assert(kScoreLanes % kLanes == 0);

// x = factor * x + mask, for one row.
void AddMask(const float* mask, int64_t mask_stride, float factor, int64_t count, float* x) {
  if (mask_stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) x[i] = factor * x[i] + mask[i];
  } else {
    const float same = *mask;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) x[i] = factor * x[i] + same;
  }
}

// x = keep ? x : masked, for one row.
void Select(const bool* keep, int64_t keep_stride, float masked, int64_t count, float* x) {
  if (keep_stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) x[i] = keep[i] ? x[i] : masked;
  } else if (!*keep) {
    for (int64_t i = 0; i < count; ++i) x[i] = masked;
  }
}

// Returns `a` for lanes of `b` that are NaN.
Vector Greater(Vector a, Vector b) { return b > a ? b : a; }

// Returns the greatest of `count` scores, which are a multiple of the vector's lanes. Ignores NaN.
float Greatest(const float* x, int64_t count) {
  // Several at a time, because each comparison waits for the last one with the same vector.
  constexpr int64_t kVectors = 4;
  Vector greatest[kVectors];
#pragma GCC unroll 4
  for (Vector& v : greatest) v = Vector{} - math::kInf;
  int64_t i = 0;
  for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) {
      greatest[v] = Greater(greatest[v], Load(x + i + v * kLanes));
    }
  }
  for (; i < count; i += kLanes) greatest[0] = Greater(greatest[0], Load(x + i));
  return ReduceLanes(Greater(Greater(greatest[0], greatest[1]), Greater(greatest[2], greatest[3])),
                     Greater)[0];
}

// x = softmax(factor * x), for a positive factor. `count` is a multiple of the vector's lanes.
void Softmax(float factor, int64_t count, float* x) {
  const float bound = Greatest(x, count);  // a NaN makes the sum below one
  Vector sums{};
  for (int64_t i = 0; i < count; i += kLanes) {
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      x[i + lane] = math::ExpOfNegative((x[i + lane] - bound) * factor);
    }
    sums += Load(x + i);
  }
  const Vector shares = 1.0f / SumOfLanes(sums);
  for (int64_t i = 0; i < count; i += kLanes) Store(Load(x + i) * shares, x + i);
}

void SoftmaxScoreRow(const ScoreRows& s, int64_t row) {
  float* const x = s.scores + row * s.step;
  float factor = s.scale;
  for (int64_t i = 0; i < s.num_masks; ++i) {
    const ScoreMask<float>& mask = s.masks[i];
    AddMask(mask.first + row * mask.row_stride, mask.step, factor, s.count, x);
    factor = 1;
  }
  // The exponentials take a positive factor in, unless a masked score is to come after it.
  if (factor != 1 && (!(factor > 0) || s.keep.first != nullptr)) {
#pragma GCC ivdep
    for (int64_t i = 0; i < s.count; ++i) x[i] *= factor;
    factor = 1;
  }
  if (s.keep.first != nullptr) {
    Select(s.keep.first + row * s.keep.row_stride, s.keep.step, s.masked, s.count, x);
  }
  const int64_t whole = (s.count + kLanes - 1) / kLanes * kLanes;
  for (int64_t i = s.count; i < whole; ++i) x[i] = -math::kInf;
  Softmax(factor, whole, x);
}

}  // namespace

void SoftmaxScores(const ScoreRows& rows) {
  for (int64_t row = 0; row < rows.rows; ++row) SoftmaxScoreRow(rows, row);
}

}  // namespace tessera::TESSERA_VECTOR_ABI

#include "runtime/kernels/primitives/cpu/attention_softmax.h"

#include "runtime/kernels/primitives/cpu/simd_vectors.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"
#ifdef __AVX512F__
#include "runtime/kernels/primitives/cpu/avx512_exponential.h"
#endif

namespace tessera::TESSERA_VECTOR_ABI {
namespace {

static_assert(kScoreLanes % kLanes == 0);

// Computes x = factor * x + mask for one row.
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

// Computes x = keep ? x : masked for one row.
void Select(const bool* keep, int64_t keep_stride, float masked, int64_t count, float* x) {
  if (keep_stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) x[i] = keep[i] ? x[i] : masked;
  } else if (!*keep) {
    for (int64_t i = 0; i < count; ++i) x[i] = masked;
  }
}

// Returns the greater operand in each lane, or `a` where `b` is NaN.
Vector Greater(Vector a, Vector b) { return b > a ? b : a; }

// Returns the greatest of `count` scores, where `count` is a multiple of the vector's lanes.
// Ignores NaN.
float Greatest(const float* x, int64_t count) {
  // The number of vectors of maxima. Each comparison waits for the previous one with the same
  // vector.
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

// The smallest factor of the scores that ExpOfScores() takes.
constexpr float kMinFactor = 1e-30f;

// Computes x = exp(factor * (x - bound)), and returns the sum of each lane. Requires that no x
// exceeds the bound, that the factor is at least kMinFactor, and that `count` is a multiple of the
// vector's lanes. NaN passes through.
Vector ExpOfScores(float factor, float bound, int64_t count, float* x) {
  Vector sums{};
#ifdef __AVX512F__
  constexpr double kLog2e = 1.4426950408889634;
  const SplitFactor exponent = SplitOf(factor * kLog2e);
  // Smaller exponentials become 0, as that of -infinity does. They would be denormal, and slow to
  // compute.
  const __m512 least = _mm512_set1_ps(-126.0f / static_cast<float>(factor * kLog2e));
  for (int64_t i = 0; i < count; i += kLanes) {
    const __m512 distance = _mm512_sub_ps(_mm512_loadu_ps(x + i), _mm512_set1_ps(bound));
    const __mmask16 counts = _mm512_cmp_ps_mask(distance, least, _CMP_NLT_UQ);
    const __m512 power = PowerOfTwo(exponent, distance, counts);
    _mm512_storeu_ps(x + i, power);
    sums = _mm512_add_ps(sums, power);
  }
#else
  for (int64_t i = 0; i < count; i += kLanes) {
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      x[i + lane] = math::ExpOfNegative((x[i + lane] - bound) * factor);
    }
    sums += Load(x + i);
  }
#endif
  return sums;
}

// Computes x = softmax(factor * x), or the exponentials and their share if `share` is not null.
// `count` is a multiple of the vector's lanes.
void Softmax(float factor, int64_t count, float* share, float* x) {
  const float bound = Greatest(x, count);  // ignores a NaN, which makes the sum below NaN
  const Vector sums = ExpOfScores(factor, bound, count, x);
  const Vector shares = 1.0f / SumOfLanes(sums);
  if (share != nullptr) {
    *share = shares[0];
    return;
  }
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
  // The exponentials can apply a positive factor, unless masked scores replace the scaled ones.
  if (factor != 1 && (!(factor >= kMinFactor) || s.keep.first != nullptr)) {
#pragma GCC ivdep
    for (int64_t i = 0; i < s.count; ++i) x[i] *= factor;
    factor = 1;
  }
  if (s.keep.first != nullptr) {
    Select(s.keep.first + row * s.keep.row_stride, s.keep.step, s.masked, s.count, x);
  }
  const int64_t whole = (s.count + kLanes - 1) / kLanes * kLanes;
  for (int64_t i = s.count; i < whole; ++i) x[i] = -math::kInf;
  Softmax(factor, whole, s.shares == nullptr ? nullptr : s.shares + row, x);
}

}  // namespace

void SoftmaxScores(const ScoreRows& rows) {
  for (int64_t row = 0; row < rows.rows; ++row) SoftmaxScoreRow(rows, row);
}

void ScaleRows(const float* factors, int64_t rows, int64_t count, int64_t step, float* values) {
  for (int64_t row = 0; row < rows; ++row, values += step) {
    const float factor = factors[row];
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) values[i] *= factor;
  }
}

}  // namespace tessera::TESSERA_VECTOR_ABI

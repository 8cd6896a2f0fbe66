#include "runtime/kernels/primitives/cpu/attention_softmax.h"

// The namespace of this instruction set.
#ifdef __AVX512F__
#define TESSERA_VECTOR_ABI avx512
#else
#define TESSERA_VECTOR_ABI avx2
#endif
#include "runtime/kernels/primitives/cpu/simd_vectors.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"
#ifdef __AVX512F__
#include "runtime/kernels/primitives/cpu/avx512_exponential.h"
#endif

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

// The smallest positive factor of scores that their exponentials take in.
constexpr float kMinFactor = 1e-30f;

// x = exp(factor * (x - bound)), where no x exceeds the bound, for a factor from kMinFactor on.
// Returns the sums of lanes; a NaN passes through. `count` is a multiple of the vector's lanes.
Vector ExpOfScores(float factor, float bound, int64_t count, float* x) {
  Vector sums{};
#ifdef __AVX512F__
  constexpr double kLog2e = 1.4426950408889634;
  const SplitFactor exponent = SplitOf(factor * kLog2e);
  // Smaller exponentials are 0, as those of -inf are. They would be denormal, and so slow.
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

// x = softmax(factor * x). `count` is a multiple of the vector's lanes.
void Softmax(float factor, int64_t count, float* x) {
  const float bound = Greatest(x, count);  // a NaN makes the sum below one
  const Vector sums = ExpOfScores(factor, bound, count, x);
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
  Softmax(factor, whole, x);
}

}  // namespace

void SoftmaxScores(const ScoreRows& rows) {
  for (int64_t row = 0; row < rows.rows; ++row) SoftmaxScoreRow(rows, row);
}

}  // namespace tessera::TESSERA_VECTOR_ABI

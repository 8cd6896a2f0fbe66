#include "runtime/kernels/primitives/cpu/product_planner.h"

#include <algorithm>
#include <bit>

#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/depthwise_convolution.h"
#include "runtime/kernels/primitives/cpu/gemv.h"
#include "runtime/kernels/primitives/cpu/micro_kernel.h"
#include "runtime/kernels/primitives/cpu/strassen_gemm.h"
#include "runtime/kernels/primitives/cpu/winograd.h"
#include "runtime/kernels/primitives/cpu/winograd_tiling.h"

namespace tessera {
namespace {

using Algorithm = ProductAlgorithm;

// The typical number of rows of one text, or of several inputs in a batch.
constexpr int64_t kUsualRows = 128;

// Returns the micro-kernel for `positions` constant matrices of k x n, each multiplied by `rows`
// rows for one image or text, or kOneDnn.
Algorithm PlanWeights(int64_t n, int64_t k, int64_t positions, int64_t rows,
                      const MachineSpeeds& speeds) {
  // Splitting a row for AMX costs as much as multiplying it by about 50 columns. Very large weights
  // are not split, because the split form takes half as much memory again.
  constexpr int64_t kMaxSplit = 16 << 20;
  const bool splits_little = n >= 96 || (n >= 64 && positions >= 9);
  if (speeds.has_amx && splits_little && k >= gemm::kBlock && n * k * positions <= kMaxSplit) {
    return Algorithm::kAmxGemm;
  }
  // Up to these sizes oneDNN is at least as fast, because it does not wait for weights.
  constexpr int64_t kMinColumns = 32, kMinDepth = 16, kWeightsPerRow = 512;
  // On AVX2 oneDNN's products read weights as fast for more rows than these. Its convolutions read
  // their input in place, which takes longer than a packed copy from so many channels on.
  constexpr int64_t kAvx2Rows = 64, kAvx2Channels = 80;
  if (!speeds.has_avx512 && positions > 1 && k >= kAvx2Channels && n >= kMinColumns) {
    return Algorithm::kFmaGemm;
  }
  const bool pays = (speeds.has_avx512 || rows <= kAvx2Rows) && n >= kMinColumns &&
                    k >= kMinDepth && n * k * positions >= kWeightsPerRow * rows;
  return pays ? Algorithm::kFmaGemm : Algorithm::kOneDnn;
}

// Returns true if m rows, at least `fewest`, are enough for the micro-kernel to be faster than
// oneDNN. A product with few rows waits for its weights, which splitting makes larger.
bool HasEnoughRows(Algorithm algorithm, int64_t m, int64_t n, int64_t k, int64_t positions,
                   int64_t fewest = kMaxGemvRows + 1) {
  const bool splits = algorithm == Algorithm::kAmxGemm;
  const int64_t min_rows = splits ? 16 : fewest, min_products = (splits ? 256 : 64) << 10;
  return m >= min_rows && m * n * k * positions >= min_products;
}

// Returns the smallest number of rows for which constant weights are packed for FMA. A skinny
// product takes as long as reading its weights.
int64_t FewestPackedRows(const MachineSpeeds& speeds) {
  return speeds.packed_gemv_bytes > speeds.gemv_bytes ? 1 : kMaxGemvRows + 1;
}

// Strassen's sums pay with large weights and with enough rows for each thread, or enough columns if
// the threads share the rows.
bool StrassenPays(int64_t rows, int64_t n, int64_t k, const PlannerContext& context) {
  constexpr int64_t kMinDepth = 256, kMinColumns = 128;
  if (k < kMinDepth || n < kMinColumns || !StrassenSupports(n, k)) return false;
  const int64_t min_rows = MinStrassenRows(context.speeds);
  return rows >= context.threads * min_rows ||
         (rows >= min_rows && StrassenPairs(n) >= context.threads * kMinStrassenPairs);
}

// The sums are loaded and stored again with every few hundred terms, which takes little time if
// they stay in the second-level cache, and if there are as many terms at all.
bool TransposedPays(int64_t rows, int64_t n, int64_t k) {
  constexpr int64_t kMinRows = 28, kMinColumns = 32, kMinDepth = 256, kMaxSums = 1 << 17;
  return rows >= kMinRows && n >= kMinColumns && k >= kMinDepth && rows * n <= kMaxSums;
}

// On AVX2, oneDNN reads weights in place for up to a few hundred rows. Weights whose rows lie a
// multiple of 2 KiB apart compete for few sets of the first-level cache, which makes such a product
// up to twice as long. A product of transposed rows packs them.
bool TransposingPays(const MatMulProblem& p, const MachineSpeeds& speeds) {
  constexpr int64_t kConflicting = 512, kMinRows = 48, kMaxRows = 256, kMinDepth = 256;
  return !speeds.has_avx512 && p.is_single && !p.transpose_b && !p.has_constant_weights &&
         p.n % kConflicting == 0 && p.m >= kMinRows && p.m <= kMaxRows && p.k >= kMinDepth;
}

// The nanoseconds that a byte of additional filter must save in each run: 15 us for a megabyte.
// Larger filters take memory, and time to load.
constexpr double kNanosecondsAFilterByte = 0.015;

double WinogradCost(const WinogradTiling& tiling, const MachineSpeeds& speeds) {
  return tiling.Nanoseconds(speeds) + tiling.FilterBytes() * kNanosecondsAFilterByte;
}

Algorithm PlanWinograd(const ConvolutionShape& s, Activation activation,
                       const MachineSpeeds& speeds) {
  if (!WinogradSupports(s, activation)) return Algorithm::kOneDnn;
  // Large tiles need fewer products, small tiles a smaller filter.
  const double small = WinogradCost(WinogradTiling(s, 2), speeds);
  const double large = WinogradCost(WinogradTiling(s, 4), speeds);
  const double filter_bytes =
      sizeof(float) * s.filter[0] * s.filter[1] * s.in_channels * s.out_channels;
  const double direct = FlopsOf(s) / speeds.fma_flops + filter_bytes * kNanosecondsAFilterByte;
  if (std::min(small, large) >= 0.9 * direct) return Algorithm::kOneDnn;
  return small < large ? Algorithm::kWinograd2 : Algorithm::kWinograd4;
}

// With AVX2 a cache line of channels is read in two halves, and lines of other points between them.
// Those of points that lie a multiple of 1 KiB apart share few sets of the first-level cache, and
// the second half is gone when it is read. oneDNN reads several vectors of each point at once,
// which is also faster with stride 2, unless the image stays in the second-level cache. Vectors
// that are stored by a mask take long.
bool DepthwisePays(const ConvolutionShape& s, const MachineSpeeds& speeds) {
  if (speeds.has_avx512) return true;
  constexpr int64_t kConflicting = 256, kLanes = 8;
  const int64_t bytes = s.input[0] * s.input[1] * s.in_channels * sizeof(float);
  return s.in_channels % kConflicting != 0 && s.in_channels % kLanes == 0 &&
         (s.strides[1] == 1 || bytes <= speeds.cache_bytes / 2);
}

// oneDNN has vectors of four channels only with AVX-512.
bool TakesDepthwise(const ConvolutionShape& s, const PlannerContext& context) {
  if (IsGroupedByFour(s)) return !context.speeds.has_avx512;
  return context.numerics == Numerics::kStrict || DepthwisePays(s, context.speeds);
}

bool HasImplicitGemm(const ConvolutionShape& s) {
  return s.filter.size() == 2 && !s.channels_first && s.groups == 1;
}

// Returns true for dense layers of a few vectors, such as those that compute the weights of
// channels in a squeeze-and-excitation block. A call of oneDNN takes longer than most of them.
bool IsFewPoints(const ConvolutionShape& s) {
  int64_t points = s.batch;
  for (int64_t d : s.output) points *= d;
  return IsPointwise(s) && s.groups == 1 && points <= kMaxGemvRows;
}

}  // namespace

Algorithm PlanMatMulWeights(int64_t n, int64_t k, WeightUse use, const PlannerContext& context) {
  if (context.numerics == Numerics::kStrict) return Algorithm::kFmaGemm;
  // On AVX2 the steps of a loop gain by it if they have few rows.
  const bool has_few_rows = use == WeightUse::kEachStep && !context.speeds.has_avx512;
  const int64_t rows = has_few_rows ? kMaxGemvRows : kUsualRows;
  const Algorithm packed = PlanWeights(n, k, 1, rows, context.speeds);
  if (packed != Algorithm::kFmaGemm) return Algorithm::kOneDnn;
  // Weights that come again in each step of a loop are read from a cache, which any product gains
  // by. Others are packed by the first product that gains by it, unless a single row does.
  const bool always_pays = use == WeightUse::kEachStep ||
                           HasEnoughRows(packed, 1, n, k, 1, FewestPackedRows(context.speeds));
  return always_pays ? packed : Algorithm::kOneDnn;
}

Algorithm PlanMatMul(const MatMulProblem& p, const PlannerContext& context) {
  if (TakesLoops(p.dtype, p.m * p.n * p.k * p.batch, context.numerics)) return Algorithm::kLoops;
  if (context.numerics == Numerics::kStrict) {
    return p.is_single && p.has_constant_weights ? Algorithm::kFmaGemm : Algorithm::kOrdered;
  }
  if (p.is_single && p.has_constant_weights) {
    const bool has_avx512 = context.speeds.has_avx512;
    // On AVX2 weights of a loop's steps are packed in panels, which only few rows gain by.
    const bool has_few_rows = p.has_panels && !has_avx512 && p.m <= kMaxGemvRows;
    const int64_t rows = has_few_rows ? p.m : kUsualRows;
    const Algorithm packed = PlanWeights(p.n, p.k, 1, rows, context.speeds);
    const int64_t fewest = FewestPackedRows(context.speeds);
    if (packed != Algorithm::kOneDnn &&
        (p.has_panels || HasEnoughRows(packed, p.m, p.n, p.k, 1, fewest))) {
      const bool strassen = packed == Algorithm::kFmaGemm && StrassenPays(p.m, p.n, p.k, context);
      return strassen ? Algorithm::kStrassen : packed;
    }
    // On AVX2 oneDNN packs constant weights, and streams them faster than they are read in place.
    if (!has_avx512 && HasEnoughRows(packed, p.m, p.n, p.k, 1, /*fewest=*/1)) {
      return Algorithm::kOneDnn;
    }
  }
  if ((p.is_transposed && TransposedPays(p.m, p.n, p.k)) || TransposingPays(p, context.speeds)) {
    return Algorithm::kTransposed;
  }
  constexpr int64_t kMinColumns = 16;
  const bool is_skinny = p.is_single && p.m <= kMaxGemvRows && p.n >= kMinColumns;
  return is_skinny ? Algorithm::kGemv : Algorithm::kOneDnn;
}

// oneDNN has two implementations. One takes whole matrices alone, and copies weights whose rows lie
// a power of two apart, since these would compete for the same few sets of the cache. The other,
// which computes chunks of columns, reads the weights in place. With several threads, chunks of
// columns read all weights once, where each chunk of rows reads them again. Weights that are stored
// transposed are always copied.
int64_t PlanColumnChunks(int64_t m, int64_t n, int64_t k, bool transpose_b,
                         const PlannerContext& context) {
  constexpr int64_t kMinDepth = 128, kMinColumns = 128, kMinChunks = 4;
  constexpr int64_t kBytes = sizeof(float);
  const MachineSpeeds& speeds = context.speeds;
  const int64_t most = n / kMinColumns;
  // Every thread needs columns, and every chunk reads all rows, which must stay in the second-level
  // cache.
  if (!speeds.cuts_columns || most < std::max(2, context.threads) || k < kMinDepth ||
      m * k * kBytes > speeds.cache_bytes / 2) {
    return 1;
  }
  // Reading rows in place that lie a multiple of 4 KiB apart takes longer, too, and with more than
  // a few rows longer than the copy.
  constexpr int64_t kConflicting = 1024, kFewRows = 24;
  // Up to this many rows, weights that no second-level cache holds cost more than multiplications.
  constexpr int64_t kRowsOfLarge = 64;
  const bool conflicts = n % kConflicting == 0;
  const bool copies = n >= kConflicting / 2 && std::has_single_bit(static_cast<uint64_t>(n));
  const bool is_large =
      m <= kRowsOfLarge && n > kConflicting && n * k * kBytes > 3 * speeds.cache_bytes;
  const double nanoseconds =
      2.0 * static_cast<double>(m * n) * static_cast<double>(k) / speeds.fma_flops;
  const int64_t chunks = NumChunks(context.threads, n, nanoseconds);
  const bool shares = context.threads > 1 && chunks > 1 && n >= 2 * m;
  if (transpose_b) return shares ? std::min(most, chunks) : 1;
  if (!(copies && (!conflicts || m <= kFewRows)) && !is_large && !(shares && !conflicts)) {
    return 1;
  }
  return std::min(most, std::max(kMinChunks, chunks));
}

Algorithm PlanConvolution(const ConvolutionProblem& p, const PlannerContext& context) {
  const ConvolutionShape& s = p.shape;
  if (p.dtype != DType::kFloat) return Algorithm::kLoops;
  const bool is_strict = context.numerics == Numerics::kStrict;
  if (DepthwiseSupports(s) && TakesDepthwise(s, context)) return Algorithm::kDepthwise;
  // On AVX2 oneDNN's products are faster, by more than its calls cost.
  if (context.speeds.has_avx512 && IsFewPoints(s) && !is_strict) return Algorithm::kGemv;
  if (!p.has_constant_filter) return Algorithm::kOneDnn;
  const int64_t positions = HasImplicitGemm(s) ? s.filter[0] * s.filter[1] : 0;
  if (is_strict) return positions > 0 ? Algorithm::kFmaGemm : Algorithm::kOneDnn;
  Algorithm packed = Algorithm::kOneDnn;
  if (positions > 0) {
    const int64_t rows = s.output[0] * s.output[1];
    packed = PlanWeights(s.out_channels, s.in_channels, positions, rows, context.speeds);
    if (!HasEnoughRows(packed, s.batch * rows, s.out_channels, s.in_channels, positions)) {
      packed = Algorithm::kOneDnn;
    }
  }
  if (packed == Algorithm::kAmxGemm) return packed;
  if (packed == Algorithm::kFmaGemm && IsPointwise(s)) {
    const int64_t points = s.batch * s.output[0] * s.output[1];
    return StrassenPays(points, s.out_channels, s.in_channels, context) ? Algorithm::kStrassen
                                                                        : packed;
  }
  const Algorithm winograd = PlanWinograd(s, p.activation, context.speeds);
  return winograd != Algorithm::kOneDnn ? winograd : packed;
}

}  // namespace tessera

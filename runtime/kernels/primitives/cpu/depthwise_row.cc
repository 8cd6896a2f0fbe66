#include "runtime/kernels/primitives/cpu/depthwise_row.h"

#include <immintrin.h>

#include <utility>

namespace tessera {
namespace {

constexpr int64_t kLanes = kDepthwiseLanes;
// The number of outputs whose sums are held in registers. There are enough of them that additions
// need not wait for each other.
constexpr int kOutputs = 8;

// Applies the epilogue to the sums of the channels from `channel` on, and stores the lanes in
// `mask`.
inline void Finish(const Epilogue& epilogue, __m512 sum, __mmask16 mask, int64_t channel,
                   float* to) {
  if (epilogue.bias != nullptr) {
    sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, epilogue.bias + channel));
  }
  if (epilogue.add) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, to));
  // The second operand is returned if either is NaN, so that NaN passes through.
  sum = _mm512_min_ps(_mm512_set1_ps(epilogue.high),
                      _mm512_max_ps(_mm512_set1_ps(epilogue.low), sum));
  _mm512_mask_storeu_ps(to, mask, sum);
}

// Computes kCount outputs from `first` on, for one vector of channels. Each point is read once for
// each row of the filter. With kIsEdge some of the points may lie outside the row.
template <int kWidth, int kStride, int kCount, bool kIsEdge>
__attribute__((always_inline)) inline void Convolve(const DepthwiseRow& d, int64_t channel,
                                                    int64_t first) {
  const int64_t step = d.channels, begin = first * kStride - d.pad;
  __m512 sums[kCount];
#pragma GCC unroll 8
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  const float* filter = d.filter + channel;
  for (int64_t y = 0; y < d.rows; ++y) {
    const float* from = d.input + (y * d.points + begin) * step + channel;
    __m512 weights[kWidth];
#pragma GCC unroll 5
    for (__m512& weight : weights) {
      weight = _mm512_loadu_ps(filter);
      filter += step;
    }
#pragma GCC unroll 20
    for (int x = 0; x < (kCount - 1) * kStride + kWidth; ++x, from += step) {
      if (kIsEdge && (begin + x < 0 || begin + x >= d.points)) continue;
      __m512 point = _mm512_loadu_ps(from);
      // This keeps the compiler from reading the point once for each sum.
      asm("" : "+v"(point));
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) {
        const int position = x - i * kStride;
        if (position >= 0 && position < kWidth) {
          sums[i] = _mm512_fmadd_ps(point, weights[position], sums[i]);
        }
      }
    }
  }
  if (d.prefetch != nullptr) {
    const float* next = d.prefetch + first * kStride * step + channel;
#pragma GCC unroll 16
    for (int x = 0; x < kCount * kStride; ++x, next += step) {
      _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
    }
  }
  float* out = d.output + first * step + channel;
#pragma GCC unroll 8
  for (const __m512& sum : sums) {
    Finish(d.epilogue, sum, 0xffff, channel, out);
    out += step;
  }
}

template <int kWidth, int kStride, int kCount, bool kIsEdge>
void ConvolveVectors(const DepthwiseRow& d, int64_t first) {
  for (int64_t channel = d.begin_channel; channel + kLanes <= d.end_channel; channel += kLanes) {
    Convolve<kWidth, kStride, kCount, kIsEdge>(d, channel, first);
  }
}

// Computes the last channels, which do not fill a vector.
void ConvolveLast(const DepthwiseRow& d, int64_t channel) {
  const __mmask16 mask = static_cast<__mmask16>((1u << (d.channels - channel)) - 1);
  for (int64_t i = 0; i < d.outputs; ++i) {
    __m512 sum = _mm512_setzero_ps();
    for (int64_t y = 0; y < d.rows; ++y) {
      for (int64_t x = 0; x < d.width; ++x) {
        const int64_t point = i * d.stride - d.pad + x;
        if (point < 0 || point >= d.points) continue;
        const float* const from = d.input + (y * d.points + point) * d.channels + channel;
        const float* const weights = d.filter + (y * d.width + x) * d.channels + channel;
        sum = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, from),
                              _mm512_maskz_loadu_ps(mask, weights), sum);
      }
    }
    Finish(d.epilogue, sum, mask, channel, d.output + i * d.channels + channel);
  }
}

using VectorsFunction = void (*)(const DepthwiseRow& d, int64_t first);

template <int kWidth, int kStride, int... kCounts>
void ConvolveRow(const DepthwiseRow& d, std::integer_sequence<int, kCounts...>) {
  static constexpr VectorsFunction kInner[] = {
      ConvolveVectors<kWidth, kStride, kCounts + 1, false>...};
  static constexpr VectorsFunction kEdge[] = {
      ConvolveVectors<kWidth, kStride, kCounts + 1, true>...};
  // The number of blocks, which have about the same size.
  int64_t blocks = (d.outputs + kOutputs - 1) / kOutputs;
  for (int64_t first = 0; first < d.outputs; --blocks) {
    const int64_t count = (d.outputs - first + blocks - 1) / blocks;
    const int64_t begin = first * kStride - d.pad;
    const bool is_edge = begin < 0 || begin + (count - 1) * kStride + kWidth > d.points;
    (is_edge ? kEdge : kInner)[count - 1](d, first);
    first += count;
  }
}

}  // namespace

void ComputeDepthwiseRow(const DepthwiseRow& d) {
  constexpr std::make_integer_sequence<int, kOutputs> kCounts;
  if (d.width == 3) {
    d.stride == 1 ? ConvolveRow<3, 1>(d, kCounts) : ConvolveRow<3, 2>(d, kCounts);
  } else {
    d.stride == 1 ? ConvolveRow<5, 1>(d, kCounts) : ConvolveRow<5, 2>(d, kCounts);
  }
  if (const int64_t rest = d.end_channel % kLanes; rest > 0) ConvolveLast(d, d.end_channel - rest);
}

}  // namespace tessera

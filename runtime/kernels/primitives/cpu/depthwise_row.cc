#include "runtime/kernels/primitives/cpu/depthwise_row.h"

#include <utility>

#include "runtime/kernels/primitives/cpu/simd_vectors.h"

namespace tessera::TESSERA_VECTOR_ABI {
namespace {

static_assert(kDepthwiseStep % kLanes == 0);

// The number of outputs whose sums are held in registers. There are enough of them that additions
// need not wait for each other. With a filter of 5 columns they take 14 of 16 registers.
constexpr int kOutputs = 8;

// Loads and stores vectors of channels. The last vector of an image may be partial.
struct WholeVector {
  Vector LoadFrom(const float* from) const { return Load(from); }
  void StoreTo(Vector vector, float* to) const { Store(vector, to); }
};
struct PartialVector {
  Vector LoadFrom(const float* from) const { return LoadFirst(from, count); }
  void StoreTo(Vector vector, float* to) const { StoreFirst(vector, to, count); }
  int64_t count;
};

// Returns the vector each of whose lanes holds channel `kChannel` of the lane's group.
template <int kGroup, int kChannel, int... kLane>
inline Vector SpreadChannel(Vector point, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(point, point, (kLane / kGroup * kGroup + kChannel)...);
}

// The sizes of a filter that are known when its loops are compiled.
template <int kFilterGroup, int kFilterWidth, int kFilterStride>
struct Filter {
  static constexpr int kGroup = kFilterGroup, kWidth = kFilterWidth, kStride = kFilterStride;
};

// Adds the products of one channel of each group with one row of the filter, for kCount outputs
// whose points begin at point `begin` of the row, at `from`. Each point is read once.
template <typename Filter, int kChannel, int kCount, bool kIsEdge, typename Channels>
__attribute__((always_inline)) inline void AddProducts(const DepthwiseRow& d, Channels channels,
                                                       int64_t begin, const float* from,
                                                       const float* filter,
                                                       Vector (&sums)[kCount]) {
  constexpr int kGroup = Filter::kGroup, kWidth = Filter::kWidth, kStride = Filter::kStride;
  constexpr int kPoints = (kCount - 1) * kStride + kWidth;
  constexpr std::make_integer_sequence<int, kLanes> kAll;
  const int64_t step = d.channels, first_inside = -begin, end_inside = d.points - begin;
  Vector weights[kWidth];
#pragma GCC unroll 5
  for (int x = 0; x < kWidth; ++x) {
    weights[x] = channels.LoadFrom(filter + (x * kGroup + kChannel) * step);
  }
#pragma GCC unroll 20
  for (int x = 0; x < kPoints; ++x, from += step) {
    if (kIsEdge && x < kWidth && x < first_inside) continue;
    if (kIsEdge && x >= kPoints - kWidth && x >= end_inside) continue;
    Vector point = SpreadChannel<kGroup, kChannel>(channels.LoadFrom(from), kAll);
    // This keeps the compiler from reading the point once for each sum.
    asm("" : "+v"(point));
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      const int position = x - i * kStride;
      if (position >= 0 && position < kWidth) sums[i] += point * weights[position];
    }
  }
}

// Computes kCount outputs from `first` on, for one vector of channels. With kIsEdge up to kWidth
// points at either end may lie outside the row.
template <typename Filter, int kCount, bool kIsEdge, typename Channels>
__attribute__((always_inline)) inline void Convolve(const DepthwiseRow& d, const Epilogue& epilogue,
                                                    Channels channels, int64_t channel,
                                                    int64_t first) {
  constexpr int kStride = Filter::kStride;
  const int64_t step = d.channels, begin = first * kStride - d.pad;
  Vector sums[kCount];
  const Vector bias =
      epilogue.bias != nullptr ? channels.LoadFrom(epilogue.bias + channel) : Vector{};
#pragma GCC unroll 8
  for (Vector& sum : sums) sum = bias;
  const float* filter = d.filter + channel;
  for (int64_t y = 0; y < d.rows; ++y, filter += Filter::kWidth * Filter::kGroup * step) {
    const float* const from = d.input + (y * d.points + begin) * step + channel;
    [&]<int... kChannel>(std::integer_sequence<int, kChannel...>) __attribute__((always_inline)) {
      (AddProducts<Filter, kChannel, kCount, kIsEdge>(d, channels, begin, from, filter, sums), ...);
    }
    (std::make_integer_sequence<int, Filter::kGroup>());
  }
  if (d.prefetch != nullptr) {
    const float* next = d.prefetch + first * kStride * step + channel;
#pragma GCC unroll 16
    for (int x = 0; x < kCount * kStride; ++x, next += step) __builtin_prefetch(next, 0, 2);
  }
  float* const out = d.output + first * step + channel;
  if (epilogue.add) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) sums[i] += channels.LoadFrom(out + i * step);
  }
  const Vector low = Broadcast(epilogue.low), high = Broadcast(epilogue.high);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    channels.StoreTo(Min(high, Max(low, sums[i])), out + i * step);  // NaN passes through
  }
}

template <typename Filter, int kCount, bool kIsEdge>
void ConvolveVectors(const DepthwiseRow& d, int64_t first) {
  const Epilogue epilogue = d.epilogue;  // a copy that stores to the output cannot change
  for (int64_t channel = d.begin_channel; channel + kLanes <= d.end_channel; channel += kLanes) {
    Convolve<Filter, kCount, kIsEdge>(d, epilogue, WholeVector(), channel, first);
  }
}

// Computes the last channels, which do not fill a vector.
template <typename Filter, int kCount>
void ConvolveLast(const DepthwiseRow& d, int64_t first) {
  const Epilogue epilogue = d.epilogue;
  const int64_t count = d.end_channel % kLanes;
  Convolve<Filter, kCount, true>(d, epilogue, PartialVector{count}, d.end_channel - count, first);
}

using VectorsFunction = void (*)(const DepthwiseRow& d, int64_t first);

template <typename Filter, int... kCounts>
void ConvolveRow(const DepthwiseRow& d, std::integer_sequence<int, kCounts...>) {
  static constexpr VectorsFunction kInner[] = {ConvolveVectors<Filter, kCounts + 1, false>...};
  static constexpr VectorsFunction kEdge[] = {ConvolveVectors<Filter, kCounts + 1, true>...};
  static constexpr VectorsFunction kLast[] = {ConvolveLast<Filter, kCounts + 1>...};
  constexpr int kWidth = Filter::kWidth, kStride = Filter::kStride;
  const bool has_last = d.end_channel % kLanes > 0;
  // The number of blocks, which have about the same size.
  int64_t blocks = (d.outputs + kOutputs - 1) / kOutputs;
  for (int64_t first = 0; first < d.outputs;) {
    int64_t count = (d.outputs - first + blocks - 1) / blocks;
    // The number of points before and after the row.
    const int64_t before = d.pad - first * kStride;
    const int64_t after = (count - 1) * kStride + kWidth - before - d.points;
    if (before <= kWidth && after <= kWidth) {
      --blocks;
    } else {
      count = 1;  // all kWidth points may lie outside
    }
    (before > 0 || after > 0 ? kEdge : kInner)[count - 1](d, first);
    if (has_last) kLast[count - 1](d, first);
    first += count;
  }
}

}  // namespace

void ComputeDepthwiseRow(const DepthwiseRow& d) {
  constexpr std::make_integer_sequence<int, kOutputs> kCounts;
  if (d.group == 4) {
    d.stride == 1 ? ConvolveRow<Filter<4, 3, 1>>(d, kCounts)
                  : ConvolveRow<Filter<4, 3, 2>>(d, kCounts);
  } else if (d.width == 3) {
    d.stride == 1 ? ConvolveRow<Filter<1, 3, 1>>(d, kCounts)
                  : ConvolveRow<Filter<1, 3, 2>>(d, kCounts);
  } else {
    d.stride == 1 ? ConvolveRow<Filter<1, 5, 1>>(d, kCounts)
                  : ConvolveRow<Filter<1, 5, 2>>(d, kCounts);
  }
}

}  // namespace tessera::TESSERA_VECTOR_ABI

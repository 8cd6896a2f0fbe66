#include "runtime/kernels/primitives/pooling.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/pool_window.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// The operations of a pool on the elements of a window, which are numbers or GCC's vectors of
// numbers. kWidestVector is the size in bytes of the widest vectors to use with AVX-512.
struct Greatest {
  static constexpr int kWidestVector = 64;
  template <typename T>
  using Sum = T;
  template <typename T>
  static constexpr T Start() {
    return std::numeric_limits<T>::lowest();
  }
  template <typename T>
  static T Add(T greatest, T value) {
    return greatest < value ? value : greatest;
  }
  template <typename T, typename Count>
  static T Result(T greatest, Count, Count) {
    return greatest;
  }
};
// Treats NaN and -inf as MaxPoolRule::kPropagateNan says.
struct GreatestOrNan : Greatest {
  // GCC makes scalars of comparisons of wider vectors, as this file is compiled for AVX2.
  static constexpr int kWidestVector = 32;
  template <typename T>
  static constexpr T Start() {
    return -std::numeric_limits<T>::infinity();
  }
  template <typename T>
  static T Add(T greatest, T value) {
    const T greater = greatest < value ? value : greatest;
    return value == value ? greater : value;
  }
};
struct Average {
  static constexpr int kWidestVector = 64;
  template <typename T>
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  template <typename T>
  static constexpr T Start() {
    return T{0};
  }
  template <typename T>
  static T Add(T sum, T value) {
    return sum + value;
  }
  // Returns sum / count, from the inverse of the count and one step of Newton's method, which takes
  // less time than a division.
  template <typename T, typename Count>
  static T Result(T sum, Count count, Count inverse) {
    const T mean = sum * inverse;
    const T rest = sum - mean * count;
    return rest == rest ? mean + rest * inverse : mean;  // `rest` is NaN for infinity
  }
};

// The operations of an average of halves, which are rounded after each step.
struct HalfAverage {
  template <typename T>
  using Sum = float;
  template <typename T>
  static constexpr T Start() {
    return T{0};
  }
  static float Add(float sum, float value) { return Round(sum + value); }
  static float Result(float sum, float count, float) { return sum / Round(count); }
  static float Round(float x) { return static_cast<float>(static_cast<Eigen::half>(x)); }
};

// Reduces one window, whose points lie at `offsets`, for `channels` channels.
template <typename Pool, typename T>
void PoolChannels(absl::Span<const int64_t> offsets, int64_t channels, const T* in,
                  int64_t in_channel, T* out, int64_t out_channel) {
  using Sum = typename Pool::template Sum<T>;
  const Sum count = static_cast<Sum>(offsets.size()), inverse = Sum{1} / count;
  for (int64_t c = 0; c < channels; ++c) {
    Sum sum = Pool::template Start<Sum>();
    for (const int64_t offset : offsets) {
      sum = Pool::Add(sum, static_cast<Sum>(in[offset + c * in_channel]));
    }
    out[c * out_channel] = static_cast<T>(Pool::Result(sum, count, inverse));
  }
}

// Reduces one window for the adjacent channels from `c` on that fill whole groups of kVectors
// vectors.
template <typename Pool, int kVectors, int kBytes, typename T>
[[gnu::always_inline]] inline void PoolVectorsOf(absl::Span<const int64_t> offsets,
                                                 int64_t channels, const T* in, T* out,
                                                 int64_t& c) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  constexpr int64_t kLanes = kBytes / sizeof(T);
  const T count = static_cast<T>(offsets.size()), inverse = T{1} / count;
  for (; c + kVectors * kLanes <= channels; c += kVectors * kLanes) {
    Vector results[kVectors];
#pragma GCC unroll 4
    for (Vector& result : results) result = Vector{} + Pool::template Start<T>();
    for (const int64_t offset : offsets) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Vector values;
        std::memcpy(&values, in + offset + c + v * kLanes, kBytes);
        results[v] = Pool::Add(results[v], values);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const Vector result = Pool::Result(results[v], count, inverse);
      std::memcpy(out + c + v * kLanes, &result, kBytes);
    }
  }
}

// Reduces the windows of a run for those adjacent channels that fill whole vectors. Returns the
// number of these channels.
template <typename Pool, int kBytes, typename T>
[[gnu::always_inline]] inline int64_t PoolRunOf(const PoolRun& run, int64_t channels, const T* in,
                                                T* out) {
  int64_t c = 0;
  for (int64_t i = 0; i < run.count; ++i) {
    c = 0;
    PoolVectorsOf<Pool, 4, kBytes>(run.offsets, channels, in, out, c);
    PoolVectorsOf<Pool, 1, kBytes>(run.offsets, channels, in, out, c);
    if constexpr (kBytes > 32) PoolVectorsOf<Pool, 1, 32>(run.offsets, channels, in, out, c);
    PoolVectorsOf<Pool, 1, 16>(run.offsets, channels, in, out, c);
    in += run.step;
    out += channels;
  }
  return c;
}
template <typename Pool, typename T>
int64_t PoolVectors(const PoolRun& run, int64_t channels, const T* in, T* out) {
  return PoolRunOf<Pool, 32>(run, channels, in, out);
}
template <typename Pool, typename T>
TESSERA_AVX512 int64_t PoolWideVectors(const PoolRun& run, int64_t channels, const T* in, T* out) {
  return PoolRunOf<Pool, Pool::kWidestVector>(run, channels, in, out);
}

// Two output rows of a pool with 3x3 windows and a stride of 1, for windows that lie inside the
// image. Two windows, one above the other, share two of their three rows.
struct PoolRowPair {
  int64_t count;            // windows in a row
  int64_t channels;         // which are adjacent in memory
  int64_t in_row, out_row;  // elements from row to row
};

// Pools both output rows for the adjacent channels from `c` on that fill whole groups of kVectors
// vectors.
template <typename Pool, int kVectors, int kBytes, typename T>
[[gnu::always_inline]] inline void PoolRowPairVectors(const PoolRowPair& pair, const T* in, T* out,
                                                      int64_t& c) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  constexpr int64_t kLanes = kBytes / sizeof(T);
  constexpr T kCount = 9, kInverse = T{1} / kCount;
  for (; c + kVectors * kLanes <= pair.channels; c += kVectors * kLanes) {
    // The reduced columns of the last three points, for the upper and the lower windows.
    Vector upper[3][kVectors] = {}, lower[3][kVectors] = {};
    for (int64_t x = 0; x < pair.count + 2; ++x) {
      const T* const from = in + x * pair.channels + c;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        Vector rows[4];
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
          std::memcpy(&rows[r], from + r * pair.in_row + v * kLanes, kBytes);
        }
        const Vector start = Vector{} + Pool::template Start<T>();
        const Vector shared = Pool::Add(Pool::Add(start, rows[1]), rows[2]);
        upper[0][v] = upper[1][v];
        upper[1][v] = upper[2][v];
        upper[2][v] = Pool::Add(shared, rows[0]);
        lower[0][v] = lower[1][v];
        lower[1][v] = lower[2][v];
        lower[2][v] = Pool::Add(shared, rows[3]);
      }
      if (x < 2) continue;
      T* const to = out + (x - 2) * pair.channels + c;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Vector above = Pool::Result(
            Pool::Add(Pool::Add(upper[0][v], upper[1][v]), upper[2][v]), kCount, kInverse);
        const Vector below = Pool::Result(
            Pool::Add(Pool::Add(lower[0][v], lower[1][v]), lower[2][v]), kCount, kInverse);
        std::memcpy(to + v * kLanes, &above, kBytes);
        std::memcpy(to + pair.out_row + v * kLanes, &below, kBytes);
      }
    }
  }
}
template <typename Pool, typename T>
void PoolTwoRows(const PoolRowPair& pair, const T* in, T* out) {
  int64_t c = 0;
  PoolRowPairVectors<Pool, 2, 32>(pair, in, out, c);
  PoolRowPairVectors<Pool, 1, 32>(pair, in, out, c);
  PoolRowPairVectors<Pool, 1, 16>(pair, in, out, c);
}
template <typename Pool, typename T>
TESSERA_AVX512 void PoolTwoWideRows(const PoolRowPair& pair, const T* in, T* out) {
  int64_t c = 0;
  PoolRowPairVectors<Pool, 4, Pool::kWidestVector>(pair, in, out, c);
  PoolRowPairVectors<Pool, 1, Pool::kWidestVector>(pair, in, out, c);
  PoolRowPairVectors<Pool, 1, 32>(pair, in, out, c);
  PoolRowPairVectors<Pool, 1, 16>(pair, in, out, c);
}

// Pools one output row of 2x2 windows that tile the image.
template <typename Pool, typename T>
[[gnu::always_inline]] inline void PoolRowOf2x2(int64_t points, int64_t channels, const T* top,
                                                const T* bottom, T* out) {
  for (int64_t x = 0; x < points; ++x) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      const T first = Pool::Add(Pool::template Start<T>(), top[c]);
      const T above = Pool::Add(first, top[channels + c]);
      out[c] =
          Pool::Result(Pool::Add(Pool::Add(above, bottom[c]), bottom[channels + c]), T{4}, T{0.25});
    }
    top += 2 * channels;
    bottom += 2 * channels;
    out += channels;
  }
}
template <typename Pool, typename T>
void PoolRow(int64_t points, int64_t channels, const T* top, const T* bottom, T* out) {
  PoolRowOf2x2<Pool>(points, channels, top, bottom, out);
}
template <typename Pool, typename T>
TESSERA_AVX512 void PoolWideRow(int64_t points, int64_t channels, const T* top, const T* bottom,
                                T* out) {
  PoolRowOf2x2<Pool>(points, channels, top, bottom, out);
}

// Pools all windows. Padding is left out, also of the count of a mean.
template <typename Pool, typename T>
void PoolOf(KernelContext& ctx, const PoolShape& s, const T* in, T* out) {
  constexpr bool kHasVectors = std::is_same_v<T, float> || std::is_same_v<T, double>;
  if constexpr (kHasVectors) {
    if (IsTiledBy2x2(s)) {
      const auto pool_row = HasAvx512() ? PoolWideRow<Pool, T> : PoolRow<Pool, T>;
      ForRowsOf2x2(ctx, s, [&](int64_t top, int64_t bottom, int64_t pooled) {
        pool_row(s.output[2], s.channels, in + top, in + bottom, out + pooled);
      });
      return;
    }
  }
  const int64_t in_channel = s.channel_step(s.input_points());
  const int64_t out_channel = s.channel_step(s.output_points());
  int64_t paired = 0, paired_end = 0;  // output rows that are computed in pairs
  if constexpr (kHasVectors) {
    if (OverlapsBy3x3(s) && s.channels % (16 / sizeof(T)) == 0) {
      const auto pool_rows = HasAvx512() ? PoolTwoWideRows<Pool, T> : PoolTwoRows<Pool, T>;
      paired = s.pad[1];
      paired_end = paired + (s.input[1] - 2) / 2 * 2;
      ForRowPairsOf3x3(ctx, s, [&](int64_t windows, int64_t pooled) {
        pool_rows({.count = s.input[2] - 2,
                   .channels = s.channels,
                   .in_row = s.input[2] * s.channels,
                   .out_row = s.output[2] * s.channels},
                  in + windows, out + pooled);
      });
    }
  }
  ForOutputRuns(ctx, s, [&](const PoolRun& run) {
    const int64_t y = run.point / s.output[2];
    if (y >= paired && y < paired_end && run.columns == 3) return;
    const T* const from = in + run.image * s.input_points() * s.channels;
    T* const to = out + run.image * s.output_points() * s.channels + run.point * s.point_step();
    int64_t done = 0;
    if constexpr (kHasVectors) {
      if (!s.channels_first) {
        const auto pool_run = HasAvx512() ? PoolWideVectors<Pool, T> : PoolVectors<Pool, T>;
        done = pool_run(run, s.channels, from, to);
        if (done == s.channels) return;
      }
    }
    for (int64_t i = 0; i < run.count; ++i) {
      PoolChannels<Pool>(run.offsets, s.channels - done, from + i * run.step + done * in_channel,
                         in_channel, to + i * s.point_step() + done * out_channel, out_channel);
    }
  });
}

template <typename T, typename Index>
void MaxPoolWithArgmaxOf(KernelContext& ctx, const PoolShape& s, ArgmaxScope scope, const T* in,
                         T* out, Index* argmax) {
  const int64_t channels = s.channels;
  ForOutputRuns(ctx, s, [&](const PoolRun& run) {
    const int64_t image = run.image * s.input_points() * channels;
    const int64_t numbered_from = scope == ArgmaxScope::kBatch ? image : 0;
    int64_t to = (run.image * s.output_points() + run.point) * channels;
    for (int64_t i = 0; i < run.count; ++i, to += channels) {
      T* const greatest = out + to;
      Index* const places = argmax + to;
      for (size_t k = 0; k < run.offsets.size(); ++k) {
        const int64_t offset = run.offsets[k] + i * run.step;
        const T* const values = in + image + offset;
        const Index first_place = static_cast<Index>(numbered_from + offset);
#pragma GCC ivdep
        for (int64_t c = 0; c < channels; ++c) {
          const Index place = static_cast<Index>(first_place + c);
          const bool is_greater = k == 0 || greatest[c] < values[c];
          greatest[c] = is_greater ? values[c] : greatest[c];
          places[c] = is_greater ? place : places[c];
        }
      }
    }
  });
}

absl::Status RunMaxPool(KernelContext& ctx, const PoolShape& shape, MaxPoolRule rule,
                        const Tensor& input, Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(input.dtype(), [&]<typename T>() {
    if constexpr (std::numeric_limits<T>::has_infinity) {
      if (rule == MaxPoolRule::kPropagateNan) {
        PoolOf<GreatestOrNan>(ctx, shape, input.data<T>(), output->data<T>());
        return absl::OkStatus();
      }
    }
    PoolOf<Greatest>(ctx, shape, input.data<T>(), output->data<T>());
    return absl::OkStatus();
  });
}

absl::Status RunAveragePool(KernelContext& ctx, const PoolShape& shape, const Tensor& input,
                            Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(input.dtype(), [&]<typename T>() {
    using Pool = std::conditional_t<std::is_same_v<T, Eigen::half>, HalfAverage, Average>;
    PoolOf<Pool>(ctx, shape, input.data<T>(), output->data<T>());
    return absl::OkStatus();
  });
}

absl::Status RunChannelMaxPool(KernelContext& ctx, int64_t window, const Tensor& input,
                               Tensor* output) {
  return VisitRealType(input.dtype(), [&]<typename T>() {
    const T* const in = input.data<T>();
    T* const out = output->data<T>();
    ctx.ParallelFor(output->num_elements(), static_cast<double>(window),
                    [&](int64_t i, int64_t end) {
                      for (; i < end; ++i) {
                        T greatest = in[i * window];
                        for (int64_t c = 1; c < window; ++c) {
                          const T value = in[i * window + c];
                          greatest = greatest < value ? value : greatest;
                        }
                        out[i] = greatest;
                      }
                    });
    return absl::OkStatus();
  });
}

absl::Status RunMaxPoolWithArgmax(KernelContext& ctx, const PoolShape& shape, ArgmaxScope scope,
                                  const Tensor& input, Tensor* output, Tensor* argmax) {
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(input.dtype(), [&]<typename T>() {
    return VisitRealType(argmax->dtype(), [&]<typename Index>() {
      if constexpr (std::is_integral_v<Index> && sizeof(Index) >= 4) {
        MaxPoolWithArgmaxOf(ctx, shape, scope, input.data<T>(), output->data<T>(),
                            argmax->data<Index>());
      }
      return absl::OkStatus();
    });
  });
}

REGISTER_PRIMITIVE(MaxPool, kCpu, RunMaxPool);
REGISTER_PRIMITIVE(AveragePool, kCpu, RunAveragePool);
REGISTER_PRIMITIVE(ChannelMaxPool, kCpu, RunChannelMaxPool);
REGISTER_PRIMITIVE(MaxPoolWithArgmax, kCpu, RunMaxPoolWithArgmax);

}  // namespace
}  // namespace tessera

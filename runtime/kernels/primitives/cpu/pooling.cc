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

// Combines the elements of a window, which are numbers, or GCC's vectors of numbers.
struct Greatest {
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
struct Average {
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
  // sum / count, by the inverse of the count and a step of Newton's, which take less time.
  template <typename T, typename Count>
  static T Result(T sum, Count count, Count inverse) {
    const T mean = sum * inverse;
    const T rest = sum - mean * count;
    return rest == rest ? mean + rest * inverse : mean;  // infinity leaves no rest
  }
};

// Reduces the window whose points lie at `offsets`, in `channels` channels.
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

// Reduces the window in adjacent channels from `c` on, as many of them as fill kVectors vectors.
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

// Reduces column `x` of a run of windows, in the channels from `c` on.
template <typename Pool, int64_t kColumns, int kVectors, typename Vector, typename T>
[[gnu::always_inline]] inline void PoolColumn(const PoolRun& run, int64_t channels, int64_t x,
                                              int64_t c, const T* in, Vector (&results)[kVectors]) {
  constexpr int64_t kLanes = sizeof(Vector) / sizeof(T);
#pragma GCC unroll 4
  for (Vector& result : results) result = Vector{} + Pool::template Start<T>();
  for (size_t first = 0; first < run.offsets.size(); first += kColumns) {
    const T* const from = in + run.offsets[first] + x * channels + c;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Vector values;
      std::memcpy(&values, from + v * kLanes, sizeof(values));
      results[v] = Pool::Add(results[v], values);
    }
  }
}

// Reduces windows of three columns that each lie one point after the window before, two of whose
// columns they share. Goes on from channel `c`, as PoolVectorsOf() does.
template <typename Pool, int kVectors, int kBytes, typename T>
[[gnu::always_inline]] inline void PoolAdjacentOf(const PoolRun& run, int64_t channels, const T* in,
                                                  T* out, int64_t& c) {
  typedef T Vector __attribute__((vector_size(kBytes)));
  constexpr int64_t kLanes = kBytes / sizeof(T);
  const T count = static_cast<T>(run.offsets.size()), inverse = T{1} / count;
  for (; c + kVectors * kLanes <= channels; c += kVectors * kLanes) {
    Vector first[kVectors], second[kVectors], third[kVectors];
    PoolColumn<Pool, 3>(run, channels, 0, c, in, first);
    PoolColumn<Pool, 3>(run, channels, 1, c, in, second);
    for (int64_t i = 0; i < run.count; ++i) {
      PoolColumn<Pool, 3>(run, channels, i + 2, c, in, third);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Vector all = Pool::Add(Pool::Add(first[v], second[v]), third[v]);
        const Vector result = Pool::Result(all, count, inverse);
        std::memcpy(out + i * channels + c + v * kLanes, &result, kBytes);
        first[v] = second[v];
        second[v] = third[v];
      }
    }
  }
}

// Reduces the windows of a run in as many of the adjacent channels as fill vectors. Returns how
// many channels that were.
template <typename Pool, int kBytes, typename T>
[[gnu::always_inline]] inline int64_t PoolRunOf(const PoolRun& run, int64_t channels, const T* in,
                                                T* out) {
  int64_t c = 0;
  if (run.columns == 3 && run.step == channels && run.count > 1) {
    // As many vectors as leave three columns of them in registers.
    PoolAdjacentOf<Pool, (kBytes > 32 ? 4 : 2), kBytes>(run, channels, in, out, c);
    PoolAdjacentOf<Pool, 1, kBytes>(run, channels, in, out, c);
    if constexpr (kBytes > 32) PoolAdjacentOf<Pool, 1, 32>(run, channels, in, out, c);
    PoolAdjacentOf<Pool, 1, 16>(run, channels, in, out, c);
    return c;
  }
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
  return PoolRunOf<Pool, 64>(run, channels, in, out);
}

// One row of outputs of windows of 2x2 points that tile the image.
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

// Padding does not take part: means leave it out of the count.
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
  ForOutputRuns(ctx, s, [&](const PoolRun& run) {
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

absl::Status RunMaxPool(KernelContext& ctx, const PoolShape& shape, const Tensor& input,
                        Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(input.dtype(), [&]<typename T>() {
    PoolOf<Greatest>(ctx, shape, input.data<T>(), output->data<T>());
    return absl::OkStatus();
  });
}

absl::Status RunAveragePool(KernelContext& ctx, const PoolShape& shape, const Tensor& input,
                            Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(input.dtype(), [&]<typename T>() {
    PoolOf<Average>(ctx, shape, input.data<T>(), output->data<T>());
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

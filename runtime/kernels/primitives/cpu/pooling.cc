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

// What a pool does with the elements of a window; numbers, or GCC's vectors of such.
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
  static T Result(T greatest, Count) {
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
  template <typename T, typename Count>
  static T Result(T sum, Count count) {
    return sum / count;
  }
};

// Reduces the window of one output point in `channels` channels.
template <typename Pool, typename T>
void PoolChannels(const PoolShape& s, const PoolBounds& bounds, int64_t channels, const T* in,
                  int64_t in_channel, T* out, int64_t out_channel) {
  using Sum = typename Pool::template Sum<T>;
  const int64_t count = bounds.num_points();
  for (int64_t c = 0; c < channels; ++c) {
    Sum sum = Pool::template Start<Sum>();
    ForWindow(s, bounds, [&](int64_t source) {
      sum = Pool::Add(sum, static_cast<Sum>(in[source * s.point_step() + c * in_channel]));
    });
    out[c * out_channel] = static_cast<T>(Pool::Result(sum, static_cast<Sum>(count)));
  }
}

// The same of adjacent channels, as many of them as fill vectors, four of which stay in registers.
// Returns how many channels that were.
template <typename Pool, int kVectorBytes, typename T>
[[gnu::always_inline]] inline int64_t PoolVectorsOf(const PoolShape& s, const PoolBounds& bounds,
                                                    const T* in, T* out) {
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  constexpr int64_t kLanes = sizeof(Vector) / sizeof(T);
  const Vector start = Vector{} + Pool::template Start<T>();
  const T count = static_cast<T>(bounds.num_points());
  const auto load = [](const T* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof(vector));
    return vector;
  };
  const auto store = [count](Vector vector, T* to) {
    const Vector result = Pool::Result(vector, count);
    std::memcpy(to, &result, sizeof(result));
  };
  int64_t c = 0;
  for (; c + 4 * kLanes <= s.channels; c += 4 * kLanes) {
    Vector v0 = start, v1 = start, v2 = start, v3 = start;
    ForWindow(s, bounds, [&](int64_t source) {
      const T* const values = in + source * s.channels + c;
      v0 = Pool::Add(v0, load(values));
      v1 = Pool::Add(v1, load(values + kLanes));
      v2 = Pool::Add(v2, load(values + 2 * kLanes));
      v3 = Pool::Add(v3, load(values + 3 * kLanes));
    });
    store(v0, out + c);
    store(v1, out + c + kLanes);
    store(v2, out + c + 2 * kLanes);
    store(v3, out + c + 3 * kLanes);
  }
  for (; c + kLanes <= s.channels; c += kLanes) {
    Vector v = start;
    ForWindow(s, bounds,
              [&](int64_t source) { v = Pool::Add(v, load(in + source * s.channels + c)); });
    store(v, out + c);
  }
  return c;
}

template <typename Pool, typename T>
int64_t PoolVectors(const PoolShape& s, const PoolBounds& bounds, const T* in, T* out) {
  return PoolVectorsOf<Pool, 32>(s, bounds, in, out);
}
template <typename Pool, typename T>
TESSERA_AVX512 int64_t PoolWideVectors(const PoolShape& s, const PoolBounds& bounds, const T* in,
                                       T* out) {
  return PoolVectorsOf<Pool, 64>(s, bounds, in, out);
}

// One row of outputs of windows of 2x2 points that tile the image.
template <typename Pool, typename T>
[[gnu::always_inline]] inline void PoolRowOf2x2(int64_t points, int64_t channels, const T* top,
                                                const T* bottom, T* out) {
  for (int64_t x = 0; x < points; ++x) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) {
      const T above = Pool::Add(top[c], top[channels + c]);
      out[c] = Pool::Result(Pool::Add(Pool::Add(above, bottom[c]), bottom[channels + c]), T{4});
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
  ForOutputPoints(ctx, s, [&](int64_t image, int64_t point, const PoolPoint& at) {
    const T* const from = in + image * s.input_points() * s.channels;
    T* const to = out + image * s.output_points() * s.channels + point * s.point_step();
    const PoolBounds bounds = BoundsAt(s, at);
    int64_t done = 0;
    if constexpr (kHasVectors) {
      if (in_channel == 1 && out_channel == 1) {
        done = (HasAvx512() ? PoolWideVectors<Pool, T> : PoolVectors<Pool, T>)(s, bounds, from, to);
      }
    }
    PoolChannels<Pool>(s, bounds, s.channels - done, from + done * in_channel, in_channel,
                       to + done * out_channel, out_channel);
  });
}

template <typename T, typename Index>
void MaxPoolWithArgmaxOf(KernelContext& ctx, const PoolShape& s, ArgmaxScope scope, const T* in,
                         T* out, Index* argmax) {
  ForOutputPoints(ctx, s, [&](int64_t image, int64_t point, const PoolPoint& at) {
    const int64_t image_start = image * s.input_points() * s.channels;
    const int64_t to = (image * s.output_points() + point) * s.channels;
    for (int64_t c = 0; c < s.channels; ++c) {
      int64_t best = -1;
      ForWindow(s, at, [&](int64_t source) {
        const int64_t index = source * s.channels + c;
        if (best < 0 || in[image_start + best] < in[image_start + index]) best = index;
      });
      out[to + c] = in[image_start + best];
      argmax[to + c] = static_cast<Index>(best + (scope == ArgmaxScope::kBatch ? image_start : 0));
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

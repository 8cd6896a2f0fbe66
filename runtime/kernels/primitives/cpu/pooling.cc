#include "runtime/kernels/primitives/pooling.h"

#include <limits>
#include <type_traits>

#include "absl/container/inlined_vector.h"
#include "runtime/kernels/primitives/cpu/pool_window.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// best[c] = max(best[c], values[c]), the steps from one channel to the next being known where
// channels are last: that loop vectorises.
template <typename T>
void TakeGreater(int64_t channels, const T* values, int64_t step, T* best, int64_t best_step) {
  if (step == 1 && best_step == 1) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) best[c] = best[c] < values[c] ? values[c] : best[c];
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    const T value = values[c * step];
    T& greatest = best[c * best_step];
    greatest = greatest < value ? value : greatest;
  }
}

template <typename T>
void MaxPoolOf(KernelContext& ctx, const PoolShape& s, const T* in, T* out) {
  const int64_t in_channel = s.channel_step(s.input_points());
  const int64_t out_channel = s.channel_step(s.output_points());
  ForOutputPoints(ctx, s, [&](int64_t image, int64_t point, const PoolPoint& at) {
    const T* from = in + image * s.input_points() * s.channels;
    T* to = out + image * s.output_points() * s.channels + point * s.point_step();
    for (int64_t c = 0; c < s.channels; ++c) {
      to[c * out_channel] = std::numeric_limits<T>::lowest();
    }
    ForWindow(s, at, [&](int64_t source) {
      TakeGreater(s.channels, from + source * s.point_step(), in_channel, to, out_channel);
    });
  });
}

// Means leave padding out of the count.
template <typename T>
void AveragePoolOf(KernelContext& ctx, const PoolShape& s, const T* in, T* out) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int64_t in_channel = s.channel_step(s.input_points());
  const int64_t out_channel = s.channel_step(s.output_points());
  ForOutputPoints(ctx, s, [&](int64_t image, int64_t point, const PoolPoint& at) {
    const T* from = in + image * s.input_points() * s.channels;
    T* to = out + image * s.output_points() * s.channels + point * s.point_step();
    absl::InlinedVector<Sum, 256> sums(s.channels, Sum(0));
    int64_t count = 0;
    ForWindow(s, at, [&](int64_t source) {
      const T* values = from + source * s.point_step();
      for (int64_t c = 0; c < s.channels; ++c) sums[c] += static_cast<Sum>(values[c * in_channel]);
      ++count;
    });
    for (int64_t c = 0; c < s.channels; ++c) {
      to[c * out_channel] = static_cast<T>(sums[c] / static_cast<Sum>(count));
    }
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
    MaxPoolOf(ctx, shape, input.data<T>(), output->data<T>());
    return absl::OkStatus();
  });
}

absl::Status RunAveragePool(KernelContext& ctx, const PoolShape& shape, const Tensor& input,
                            Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(input.dtype(), [&]<typename T>() {
    AveragePoolOf(ctx, shape, input.data<T>(), output->data<T>());
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

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/pool_window.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/pooling.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// The type in which elements of T are summed.
template <typename T>
using SumOf =
    std::conditional_t<std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>, float,
                       T>;

// Returns scratch memory for the sums of an output of this shape, all 0.
template <typename T>
absl::StatusOr<Tensor> MakeSums(KernelContext& ctx, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DTypeOf<SumOf<T>>, shape));
  std::fill_n(sums.data<SumOf<T>>(), sums.num_elements(), SumOf<T>(0));
  return sums;
}

template <typename T>
void Store(const SumOf<T>* sums, Tensor* output) {
  for (int64_t i = 0, count = output->num_elements(); i < count; ++i) {
    output->data<T>()[i] = static_cast<T>(sums[i]);
  }
}

// Calls visit(in_start, out_start) for each image, with the indices of its first elements in the
// input and in the output.
template <typename Visit>
void ForEachImage(KernelContext& ctx, const PoolShape& s, const Visit& visit) {
  const int64_t in_size = s.input_points() * s.channels, out_size = s.output_points() * s.channels;
  ctx.ParallelFor(s.batch, 2.0 * static_cast<double>(in_size), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) visit(image * in_size, image * out_size);
  });
}

// Finds the first maximum of each window, for all channels of a point at once, if channels come
// last. Calls visit(input element, output element) for each output element.
template <typename T, typename Visit>
void ForFirstMaximaOfPoints(const PoolShape& s, const T* in, int64_t in_start, int64_t out_start,
                            const Visit& visit) {
  const int64_t channels = s.channels;
  std::vector<T> best(channels);
  std::vector<int32_t> places(channels);
  T* const __restrict top = best.data();
  int32_t* const __restrict place = places.data();
  for (int64_t point = 0; point < s.output_points(); ++point) {
    bool is_first = true;
    ForWindow(s, PointAt(s, point), [&](int64_t source) {
      const T* const from = in + in_start + source * channels;
      const int32_t number = static_cast<int32_t>(source);
      if (is_first) {
        std::copy_n(from, channels, top);
        std::fill_n(place, channels, number);
      } else {
        // The loop has no branches, which would be mispredicted half of the time.
        for (int64_t c = 0; c < channels; ++c) {
          const T value = from[c];
          const bool is_better = top[c] < value;
          top[c] = is_better ? value : top[c];
          place[c] ^= (place[c] ^ number) & -static_cast<int32_t>(is_better);
        }
      }
      is_first = false;
    });
    if (is_first) continue;
    for (int64_t c = 0; c < channels; ++c) {
      visit(in_start + place[c] * channels + c, out_start + point * channels + c);
    }
  }
}

// Returns true if an element counts as a maximum of its window. An infinity or a NaN does not.
template <typename T>
bool IsNearMaximum(T element, T maximum) {
  if constexpr (std::is_integral_v<T>) {
    return element == maximum;
  } else {
    return maximum - element < static_cast<T>(kEqualMaximaDistance);
  }
}

// Calls visit(input element, output element) for each output element of an image. The input element
// is the first maximum of the window. With kAllEqual, visit is called for each input element that
// IsNearMaximum().
template <bool kAllEqual, typename T, typename Visit>
void ForMaxima(const PoolShape& s, const T* in, int64_t in_start, int64_t out_start,
               const Visit& visit) {
  const int64_t in_channel = s.channel_step(s.input_points());
  const int64_t out_channel = s.channel_step(s.output_points());
  if (!kAllEqual && in_channel == 1 && s.input_points() <= std::numeric_limits<int32_t>::max()) {
    return ForFirstMaximaOfPoints(s, in, in_start, out_start, visit);
  }
  for (int64_t point = 0; point < s.output_points(); ++point) {
    const PoolPoint at = PointAt(s, point);
    for (int64_t c = 0; c < s.channels; ++c) {
      int64_t best = -1;
      ForWindow(s, at, [&](int64_t source) {
        const int64_t index = in_start + source * s.point_step() + c * in_channel;
        if (best < 0 || in[best] < in[index]) best = index;
      });
      if (best < 0) continue;
      const int64_t pooled = out_start + point * s.point_step() + c * out_channel;
      if (!kAllEqual) {
        visit(best, pooled);
        continue;
      }
      ForWindow(s, at, [&](int64_t source) {
        const int64_t index = in_start + source * s.point_step() + c * in_channel;
        if (IsNearMaximum(in[index], in[best])) visit(index, pooled);
      });
    }
  }
}

// TensorFlow rounds after each gradient that a first maximum gets.
template <bool kAllEqual, typename T>
void AddToMaxima(KernelContext& ctx, const PoolShape& shape, const Tensor& input,
                 const Tensor& gradient, Tensor* output) {
  const T* const from = gradient.data<T>();
  const int64_t size = shape.input_points() * shape.channels;
  ForEachImage(ctx, shape, [&](int64_t in_start, int64_t out_start) {
    T* const to = output->data<T>() + in_start;
    const auto add_to = [&](auto* sums) {
      ForMaxima<kAllEqual>(shape, input.data<T>(), in_start, out_start,
                           [&](int64_t in, int64_t pooled) {
                             using Sum = std::remove_reference_t<decltype(*sums)>;
                             sums[in - in_start] += static_cast<Sum>(from[pooled]);
                           });
    };
    if constexpr (!kAllEqual || std::is_same_v<T, SumOf<T>>) {
      std::fill_n(to, size, T(0));
      add_to(to);
    } else {
      std::vector<SumOf<T>> sums(size);
      add_to(sums.data());
      for (int64_t i = 0; i < size; ++i) to[i] = static_cast<T>(sums[i]);
    }
  });
}

// Writes the gradient of a window of 2x2 points, for one channel or for a vector of channels,
// according to V. The first maximum gets the gradient, and the other points get 0. The right points
// of the window lie `right` elements after the left ones.
template <typename V, typename T>
[[gnu::always_inline]] inline void SplitAmongFour(const T* top, const T* bottom, int64_t right,
                                                  const T* from, T* to_top, T* to_bottom) {
  const auto load = [](const T* values) {
    V v;
    std::memcpy(&v, values, sizeof(v));
    return v;
  };
  const auto store = [](V v, T* to) { std::memcpy(to, &v, sizeof(v)); };
  const V a = load(top), b = load(top + right), d = load(bottom), e = load(bottom + right);
  const auto b_wins = a < b;
  const V ab = b_wins ? b : a;
  const auto d_wins = ab < d;
  const V abd = d_wins ? d : ab;
  const auto e_wins = abd < e;
  const V g = load(from), zero = V{};
  const V without_e = e_wins ? zero : g;
  const V without_d = d_wins ? zero : without_e;
  store(b_wins ? zero : without_d, to_top);
  store(b_wins ? without_d : zero, to_top + right);
  store(d_wins ? without_e : zero, to_bottom);
  store(e_wins ? g : zero, to_bottom + right);
}

// Writes the gradients of `points` adjacent windows to the elements that were the maxima.
template <typename T>
void SplitRowAmong2x2(int64_t points, int64_t channels, const T* top, const T* bottom,
                      const T* from, T* to_top, T* to_bottom) {
  int64_t x = 0;
  const auto split = [&]<typename V>(V, int64_t c) {
    const int64_t left = 2 * x * channels + c;
    SplitAmongFour<V>(top + left, bottom + left, channels, from + x * channels + c, to_top + left,
                      to_bottom + left);
  };
  if constexpr (std::is_arithmetic_v<T>) {
    typedef T Vector __attribute__((vector_size(32)));
    constexpr int64_t kLanes = sizeof(Vector) / sizeof(T);
    if (channels < kLanes) {
      // The elements that a vector writes beyond its point are overwritten by the next window. The
      // last windows, whose vectors would leave the row, are computed channel by channel.
      for (; (points - x) * channels >= kLanes; ++x) split(Vector{}, 0);
    } else {
      for (; x < points; ++x) {
        for (int64_t c = 0; c + kLanes <= channels; c += kLanes) split(Vector{}, c);
        if (channels % kLanes != 0) split(Vector{}, channels - kLanes);
      }
    }
  }
  for (; x < points; ++x) {
    for (int64_t c = 0; c < channels; ++c) split(T(0), c);
  }
}

// Writes the gradient of a pool whose windows tile the image.
template <typename T>
void SplitAmong2x2(KernelContext& ctx, const PoolShape& s, const T* in, const T* gradient, T* out) {
  const int64_t tiled = 2 * s.output[2] * s.channels, row_size = s.input[2] * s.channels;
  ForRowsOf2x2(ctx, s, [&](int64_t top_start, int64_t bottom_start, int64_t pooled) {
    SplitRowAmong2x2(s.output[2], s.channels, in + top_start, in + bottom_start, gradient + pooled,
                     out + top_start, out + bottom_start);
    // No window covers the last point of a row of odd length.
    std::fill(out + top_start + tiled, out + top_start + row_size, T(0));
    std::fill(out + bottom_start + tiled, out + bottom_start + row_size, T(0));
  });
  const int64_t rest = (s.input[1] - 2 * s.output[1]) * row_size;
  for (int64_t image = 1; rest > 0 && image <= s.batch; ++image) {
    T* const end = out + image * s.input[1] * row_size;
    std::fill(end - rest, end, T(0));
  }
}

absl::Status RunMaxPoolGradient(KernelContext& ctx, const PoolShape& shape, EqualMaxima equal,
                                const Tensor& input, const Tensor& gradient, Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(input.dtype(), [&]<typename T>() {
    if (equal == EqualMaxima::kFirst && IsTiledBy2x2(shape)) {
      SplitAmong2x2(ctx, shape, input.data<T>(), gradient.data<T>(), output->data<T>());
      return absl::OkStatus();
    }
    const auto add = equal == EqualMaxima::kAll ? AddToMaxima<true, T> : AddToMaxima<false, T>;
    add(ctx, shape, input, gradient, output);
    return absl::OkStatus();
  });
}

absl::Status RunMaxPoolSecondGradient(KernelContext& ctx, const PoolShape& shape,
                                      const Tensor& input, const Tensor& gradient, Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(input.dtype(), [&]<typename T>() {
    const T* const from = gradient.data<T>();
    T* const to = output->data<T>();
    const int64_t size = shape.output_points() * shape.channels;
    ForEachImage(ctx, shape, [&](int64_t in_start, int64_t out_start) {
      std::fill_n(to + out_start, size, T(0));
      ForMaxima<false>(shape, input.data<T>(), in_start, out_start,
                       [&](int64_t in, int64_t pooled) { to[pooled] = from[in]; });
    });
    return absl::OkStatus();
  });
}

absl::Status RunArgmaxPoolGradient(KernelContext& ctx, const PoolShape& shape, ArgmaxScope scope,
                                   const Tensor& argmax, const Tensor& gradient, Tensor* output) {
  const int64_t image_size = shape.input_points() * shape.channels;
  const int64_t pooled_size = shape.output_points() * shape.channels;
  return VisitRealType(gradient.dtype(), [&]<typename T>() -> absl::Status {
    T* const sums = output->data<T>();
    std::fill_n(sums, output->num_elements(), T(0));
    for (int64_t i = 0; i < gradient.num_elements(); ++i) {
      int64_t place =
          argmax.dtype() == DType::kInt32 ? argmax.data<int32_t>()[i] : argmax.data<int64_t>()[i];
      if (scope == ArgmaxScope::kImage) place += i / pooled_size * image_size;
      if (place < 0 || place >= output->num_elements()) {
        return absl::InvalidArgumentError(
            absl::StrCat("argmax names element ", place, " of ", output->num_elements()));
      }
      sums[place] += gradient.data<T>()[i];
    }
    return absl::OkStatus();
  });
}

// Adds the part of a gradient that one element of a window of `count` elements gets. For half,
// TensorFlow multiplies by the inverse of the count, and rounds each step.
template <typename T>
void AddMean(T gradient, int64_t count, SumOf<T>* sum) {
  if constexpr (std::is_same_v<T, Eigen::half>) {
    const T part = gradient * (T(1) / static_cast<T>(static_cast<float>(count)));
    *sum = static_cast<float>(static_cast<T>(*sum + static_cast<float>(part)));
  } else {
    *sum += static_cast<SumOf<T>>(gradient) / static_cast<SumOf<T>>(count);
  }
}

absl::Status RunAveragePoolGradient(KernelContext& ctx, const PoolShape& s, const Tensor& gradient,
                                    Tensor* output) {
  const int64_t in_channel = s.channel_step(s.input_points());
  const int64_t out_channel = s.channel_step(s.output_points());
  return VisitRealType(output->dtype(), [&]<typename T>() -> absl::Status {
    ASSIGN_OR_RETURN(Tensor scratch, MakeSums<T>(ctx, output->shape()));
    SumOf<T>* const sums = scratch.data<SumOf<T>>();
    for (int64_t i = 0; i < s.batch * s.output_points(); ++i) {
      const int64_t image = i / s.output_points(), point = i % s.output_points();
      const PoolPoint at = PointAt(s, point);
      int64_t count = 0;
      ForWindow(s, at, [&](int64_t) { ++count; });
      const T* const from =
          gradient.data<T>() + image * s.output_points() * s.channels + point * s.point_step();
      SumOf<T>* const to = sums + image * s.input_points() * s.channels;
      ForWindow(s, at, [&](int64_t source) {
        for (int64_t c = 0; c < s.channels; ++c) {
          AddMean(from[c * out_channel], count, &to[source * s.point_step() + c * in_channel]);
        }
      });
    }
    Store<T>(sums, output);
    return absl::OkStatus();
  });
}

REGISTER_PRIMITIVE(MaxPoolGradient, kCpu, RunMaxPoolGradient);
REGISTER_PRIMITIVE(MaxPoolSecondGradient, kCpu, RunMaxPoolSecondGradient);
REGISTER_PRIMITIVE(ArgmaxPoolGradient, kCpu, RunArgmaxPoolGradient);
REGISTER_PRIMITIVE(AveragePoolGradient, kCpu, RunAveragePoolGradient);

}  // namespace
}  // namespace tessera

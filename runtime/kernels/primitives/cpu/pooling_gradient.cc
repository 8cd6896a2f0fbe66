#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/cpu/pool_window.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/pooling.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// In which to add up elements of T.
template <typename T>
using SumOf =
    std::conditional_t<std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>, float,
                       T>;

template <typename T>
void Store(const std::vector<SumOf<T>>& sums, Tensor* output) {
  for (size_t i = 0; i < sums.size(); ++i) output->data<T>()[i] = static_cast<T>(sums[i]);
}

// Calls visit(input element, output element) for each output element, with the first input element
// that is the maximum of its window, or, if all equal ones count, with each that is.
template <bool kAllEqual, typename T, typename Visit>
void ForMaxima(const PoolShape& s, const T* in, Visit visit) {
  const int64_t in_channel = s.channel_step(s.input_points());
  const int64_t out_channel = s.channel_step(s.output_points());
  for (int64_t image = 0; image < s.batch; ++image) {
    const int64_t in_start = image * s.input_points() * s.channels;
    const int64_t out_start = image * s.output_points() * s.channels;
    for (int64_t point = 0; point < s.output_points(); ++point) {
      const int64_t at[3] = {point / (s.output[1] * s.output[2]), point / s.output[2] % s.output[1],
                             point % s.output[2]};
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
          if (in[index] == in[best]) visit(index, pooled);
        });
      }
    }
  }
}

template <bool kAllEqual, typename T>
void AddToMaxima(const PoolShape& shape, const Tensor& input, const Tensor& gradient,
                 Tensor* output) {
  const T* const from = gradient.data<T>();
  std::vector<SumOf<T>> sums(output->num_elements());
  ForMaxima<kAllEqual>(shape, input.data<T>(), [&](int64_t in, int64_t pooled) {
    sums[in] += static_cast<SumOf<T>>(from[pooled]);
  });
  Store<T>(sums, output);
}

absl::Status RunMaxPoolGradient(KernelContext& /*ctx*/, const PoolShape& shape, EqualMaxima equal,
                                const Tensor& input, const Tensor& gradient, Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(input.dtype(), [&]<typename T>() {
    const auto add = equal == EqualMaxima::kAll ? AddToMaxima<true, T> : AddToMaxima<false, T>;
    add(shape, input, gradient, output);
    return absl::OkStatus();
  });
}

absl::Status RunMaxPoolSecondGradient(KernelContext& /*ctx*/, const PoolShape& shape,
                                      const Tensor& input, const Tensor& gradient, Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(input.dtype(), [&]<typename T>() {
    const T* const from = gradient.data<T>();
    std::vector<SumOf<T>> values(output->num_elements());
    ForMaxima<false>(shape, input.data<T>(), [&](int64_t in, int64_t pooled) {
      values[pooled] = static_cast<SumOf<T>>(from[in]);
    });
    Store<T>(values, output);
    return absl::OkStatus();
  });
}

absl::Status RunArgmaxPoolGradient(KernelContext& /*ctx*/, const PoolShape& shape,
                                   ArgmaxScope scope, const Tensor& argmax, const Tensor& gradient,
                                   Tensor* output) {
  const int64_t image_size = shape.input_points() * shape.channels;
  const int64_t pooled_size = shape.output_points() * shape.channels;
  return VisitRealType(gradient.dtype(), [&]<typename T>() -> absl::Status {
    std::vector<SumOf<T>> sums(output->num_elements());
    for (int64_t i = 0; i < gradient.num_elements(); ++i) {
      int64_t place =
          argmax.dtype() == DType::kInt32 ? argmax.data<int32_t>()[i] : argmax.data<int64_t>()[i];
      if (scope == ArgmaxScope::kImage) place += i / pooled_size * image_size;
      if (place < 0 || place >= output->num_elements()) {
        return absl::InvalidArgumentError(
            absl::StrCat("argmax names element ", place, " of ", output->num_elements()));
      }
      sums[place] += static_cast<SumOf<T>>(gradient.data<T>()[i]);
    }
    Store<T>(sums, output);
    return absl::OkStatus();
  });
}

absl::Status RunAveragePoolGradient(KernelContext& /*ctx*/, const PoolShape& s,
                                    const Tensor& gradient, Tensor* output) {
  const int64_t in_channel = s.channel_step(s.input_points());
  const int64_t out_channel = s.channel_step(s.output_points());
  return VisitRealType(output->dtype(), [&]<typename T>() {
    std::vector<SumOf<T>> sums(output->num_elements());
    for (int64_t i = 0; i < s.batch * s.output_points(); ++i) {
      const int64_t image = i / s.output_points(), point = i % s.output_points();
      const int64_t at[3] = {point / (s.output[1] * s.output[2]), point / s.output[2] % s.output[1],
                             point % s.output[2]};
      int64_t count = 0;
      ForWindow(s, at, [&](int64_t) { ++count; });
      const T* const from =
          gradient.data<T>() + image * s.output_points() * s.channels + point * s.point_step();
      SumOf<T>* const to = sums.data() + image * s.input_points() * s.channels;
      ForWindow(s, at, [&](int64_t source) {
        for (int64_t c = 0; c < s.channels; ++c) {
          to[source * s.point_step() + c * in_channel] +=
              static_cast<SumOf<T>>(from[c * out_channel]) / static_cast<SumOf<T>>(count);
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

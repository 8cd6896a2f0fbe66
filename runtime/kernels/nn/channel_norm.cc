#include "runtime/kernels/nn/channel_norm.h"

#include <cmath>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {

absl::Status NormalizeChannels(KernelContext& ctx, const ChannelNorm& norm, Activation activation,
                               float alpha, bool channels_first, Tensor* values) {
  const Shape& shape = values->shape();
  const int64_t channels = shape.dim(channels_first ? 1 : shape.rank() - 1);
  for (const Tensor* vector : {&norm.scale, &norm.offset, &norm.mean, &norm.variance}) {
    if (vector->shape() == Shape{channels}) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("scale, offset, mean and variance must be vectors of ", channels,
                     " elements, one has shape ", vector->shape().ToString()));
  }
  if (values->num_elements() == 0) return absl::OkStatus();
  const int64_t inner = channels_first ? values->num_elements() / shape.dim(0) / channels : 1;
  const int64_t outer = values->num_elements() / channels / inner;
  return VisitRealType(values->dtype(), [&]<typename T>() {
    using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
    std::vector<Sum> factors(channels);
    for (int64_t c = 0; c < channels; ++c) {
      const Sum variance = static_cast<Sum>(norm.variance.data<T>()[c]) + norm.epsilon;
      factors[c] = static_cast<Sum>(norm.scale.data<T>()[c]) / std::sqrt(variance);
    }
    ctx.ParallelFor(outer, 3.0 * channels * inner, [&](int64_t begin, int64_t end) {
      T* to = values->data<T>() + begin * channels * inner;
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t c = 0; c < channels; ++c) {
          const Sum mean = static_cast<Sum>(norm.mean.data<T>()[c]);
          const Sum offset = static_cast<Sum>(norm.offset.data<T>()[c]);
          for (int64_t i = 0; i < inner; ++i, ++to) {
            const Sum y = (static_cast<Sum>(*to) - mean) * factors[c] + offset;
            *to = static_cast<T>(Apply(activation, alpha, y));
          }
        }
      }
    });
    return absl::OkStatus();
  });
}

}  // namespace tessera

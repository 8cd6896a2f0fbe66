#include "runtime/kernels/primitives/channel_norm.h"

#include <cmath>
#include <type_traits>
#include <vector>

#include "runtime/kernels/primitives/cpu/post_ops.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

template <typename T>
void Normalise(KernelContext& ctx, const ChannelNorm::Operands& operands) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int64_t channels = operands.shape.channels, inner = operands.shape.inner;
  std::vector<Sum> factors(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const Sum variance = static_cast<Sum>(operands.variance.data<T>()[c]) + operands.epsilon;
    factors[c] = static_cast<Sum>(operands.scale.data<T>()[c]) / std::sqrt(variance);
  }
  ctx.ParallelFor(operands.shape.outer, 3.0 * channels * inner, [&](int64_t begin, int64_t end) {
    T* to = operands.values->data<T>() + begin * channels * inner;
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t c = 0; c < channels; ++c) {
        const Sum mean = static_cast<Sum>(operands.mean.data<T>()[c]);
        const Sum offset = static_cast<Sum>(operands.offset.data<T>()[c]);
        for (int64_t i = 0; i < inner; ++i, ++to) {
          const Sum y = (static_cast<Sum>(*to) - mean) * factors[c] + offset;
          *to = static_cast<T>(Apply(operands.activation, operands.alpha, y));
        }
      }
    }
  });
}

absl::Status RunChannelNorm(KernelContext& ctx, const ChannelNorm::Operands& operands) {
  return VisitRealType(operands.values->dtype(), [&]<typename T>() {
    Normalise<T>(ctx, operands);
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(ChannelNorm, kCpu, RunChannelNorm);

}  // namespace
}  // namespace tessera

#include "runtime/kernels/primitives/batch_norm.h"

#include <cmath>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

using Vector = std::vector<float>;

absl::Status Read(const Tensor& from, Vector* to) {
  return VisitRealType(from.dtype(), [&]<typename U>() {
    to->assign(from.flat<U>().begin(), from.flat<U>().end());
    return absl::OkStatus();
  });
}

absl::Status Write(const Vector& from, Tensor* to) {
  return VisitRealType(to->dtype(), [&]<typename U>() {
    for (size_t c = 0; c < from.size(); ++c) to->data<U>()[c] = static_cast<U>(from[c]);
    return absl::OkStatus();
  });
}

// Mean and uncorrected variance of each channel, in two passes.
template <typename T>
void Moments(const T* in, const ChannelShape& shape, Vector* mean, Vector* variance) {
  const auto [outer, channels, inner] = shape;
  const double count = static_cast<double>(outer * inner);
  std::vector<double> sums(channels, 0), squares(channels, 0);
  auto for_each = [&](auto&& visit) {
    const T* at = in;
    for (int64_t o = 0; o < shape.outer; ++o) {
      for (int64_t c = 0; c < shape.channels; ++c) {
        for (int64_t i = 0; i < shape.inner; ++i) visit(c, static_cast<double>(*at++));
      }
    }
  };
  for_each([&](int64_t c, double v) { sums[c] += v; });
  for (int64_t c = 0; c < channels; ++c) sums[c] = count > 0 ? sums[c] / count : 0;
  for_each([&](int64_t c, double v) { squares[c] += (v - sums[c]) * (v - sums[c]); });
  for (int64_t c = 0; c < channels; ++c) {
    (*mean)[c] = static_cast<float>(sums[c]);
    (*variance)[c] = static_cast<float>(count > 0 ? squares[c] / count : 0);
  }
}

// out = in * factor + shift of each channel.
template <typename T>
void Scale(KernelContext& ctx, const ChannelShape& shape, const T* in, const Vector& factor,
           const Vector& shift, T* out) {
  const int64_t channels = shape.channels, inner = shape.inner;
  ctx.ParallelFor(shape.outer, 1.0 * channels * inner, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      for (int64_t c = 0; inner == 1 && c < channels; ++c) {
        const int64_t i = o * channels + c;
        out[i] = static_cast<T>(static_cast<float>(in[i]) * factor[c] + shift[c]);
      }
      for (int64_t c = 0; inner != 1 && c < channels; ++c) {
        const int64_t start = (o * channels + c) * inner;
        for (int64_t i = start; i < start + inner; ++i) {
          out[i] = static_cast<T>(static_cast<float>(in[i]) * factor[c] + shift[c]);
        }
      }
    }
  });
}

// `mean` and `variance` normalised x; the old ones are the estimates that came in.
absl::Status WriteStatistics(const BatchNorm::Operands& operands, const Vector& mean,
                             const Vector& variance, const Vector& old_mean,
                             const Vector& old_variance) {
  const int64_t count = operands.shape.outer * operands.shape.inner;
  const float factor = operands.average_factor;
  Vector out_mean = mean, out_variance = variance;
  for (size_t c = 0; c < mean.size(); ++c) {
    // There are no statistics of nothing, not even passed on ones.
    if (count == 0) out_mean[c] = out_variance[c] = std::nanf("");
    if (!operands.is_training) continue;
    if (count > 1) out_variance[c] *= static_cast<float>(count) / static_cast<float>(count - 1);
    if (factor != 1.0f) {
      out_mean[c] = (1 - factor) * old_mean[c] + factor * out_mean[c];
      out_variance[c] = (1 - factor) * old_variance[c] + factor * out_variance[c];
    }
  }
  RETURN_IF_ERROR(Write(out_mean, operands.average_mean));
  RETURN_IF_ERROR(Write(out_variance, operands.average_variance));
  RETURN_IF_ERROR(Write(mean, operands.saved_mean));
  return Write(variance, operands.saved_variance);
}

absl::Status RunBatchNorm(KernelContext& ctx, const BatchNorm::Operands& operands) {
  const ChannelShape& shape = operands.shape;
  const int64_t channels = shape.channels;
  Vector scale, offset, old_mean, old_variance;
  RETURN_IF_ERROR(Read(operands.scale, &scale));
  RETURN_IF_ERROR(Read(operands.offset, &offset));
  if (!operands.is_training || operands.average_factor != 1.0f) {
    RETURN_IF_ERROR(Read(operands.mean, &old_mean));
    RETURN_IF_ERROR(Read(operands.variance, &old_variance));
  }
  return VisitRealType(operands.x.dtype(), [&]<typename T>() {
    const T* const in = operands.x.data<T>();
    Vector mean = old_mean, variance = old_variance;
    if (operands.is_training) {
      mean.resize(channels);
      variance.resize(channels);
      Moments(in, shape, &mean, &variance);
    }
    Vector factor(channels), shift(channels);
    for (int64_t c = 0; c < channels; ++c) {
      factor[c] = scale[c] / std::sqrt(variance[c] + operands.epsilon);
      shift[c] = offset[c] - mean[c] * factor[c];
    }
    Scale(ctx, shape, in, factor, shift, operands.y->data<T>());
    return WriteStatistics(operands, mean, variance, old_mean, old_variance);
  });
}
REGISTER_PRIMITIVE(BatchNorm, kCpu, RunBatchNorm);

template <typename T>
void Gradient(const BatchNormGradient::Operands& operands) {
  const auto [outer, channels, inner] = operands.shape;
  const int64_t total = outer * channels * inner;
  const T* const dy = operands.dy.data<T>();
  const T* const x = operands.x.data<T>();
  T* const dx = operands.dx->data<T>();
  const float* const scale = operands.scale.data<float>();
  const float* const mean = operands.mean.data<float>();
  const float* const variance = operands.variance.data<float>();
  std::vector<double> sum(channels), products(channels), inverse(channels);
  for (int64_t c = 0; c < channels; ++c) {
    inverse[c] = 1 / std::sqrt(static_cast<double>(variance[c]) + operands.epsilon);
  }
  auto channel = [channels = channels, inner = inner](int64_t i) { return i / inner % channels; };
  auto normal = [&](int64_t i, int64_t c) {
    return (static_cast<double>(x[i]) - mean[c]) * inverse[c];
  };
  for (int64_t i = 0; i < total; ++i) {
    const int64_t c = channel(i);
    sum[c] += static_cast<double>(dy[i]);
    products[c] += static_cast<double>(dy[i]) * normal(i, c);
  }
  const double share = operands.is_training && channels > 0
                           ? static_cast<double>(channels) / static_cast<double>(total)
                           : 0;
  for (int64_t i = 0; i < total; ++i) {
    const int64_t c = channel(i);
    const double rest = static_cast<double>(dy[i]) - share * (sum[c] + normal(i, c) * products[c]);
    dx[i] = static_cast<T>(static_cast<float>(scale[c] * inverse[c] * rest));
  }
  for (int64_t c = 0; c < channels; ++c) {
    operands.dscale->data<float>()[c] = static_cast<float>(products[c]);
    operands.doffset->data<float>()[c] = static_cast<float>(sum[c]);
  }
}

absl::Status RunBatchNormGradient(KernelContext&, const BatchNormGradient::Operands& operands) {
  return VisitRealType(operands.x.dtype(), [&]<typename T>() {
    Gradient<T>(operands);
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(BatchNormGradient, kCpu, RunBatchNormGradient);

}  // namespace
}  // namespace tessera

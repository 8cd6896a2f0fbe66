#include "runtime/kernels/primitives/batch_norm.h"

#include <array>
#include <cmath>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/channel_sums.h"
#include "runtime/kernels/primitives/cpu/ordered_batch_norm.h"
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

// Computes the mean and the uncorrected variance of each channel in two passes.
template <typename T>
void Moments(KernelContext& ctx, const T* in, const ChannelShape& shape, Vector* mean,
             Vector* variance) {
  const int64_t channels = shape.channels;
  const double count = static_cast<double>(shape.outer * shape.inner);
  std::vector<double> means = SumChannels<1>(
      ctx, shape, [in](int64_t i, int64_t) { return std::array{static_cast<double>(in[i])}; });
  for (double& sum : means) sum = count > 0 ? sum / count : 0;
  const std::vector<double> squares =
      SumChannels<1>(ctx, shape, [in, means = means.data()](int64_t i, int64_t c) {
        const double difference = static_cast<double>(in[i]) - means[c];
        return std::array{difference * difference};
      });
  for (int64_t c = 0; c < channels; ++c) {
    (*mean)[c] = static_cast<float>(means[c]);
    (*variance)[c] = static_cast<float>(count > 0 ? squares[c] / count : 0);
  }
}

// Calls visit(i, c) for each element i and its channel c. It must not read for one element what it
// writes for another.
template <typename Visit>
void ForEachElement(KernelContext& ctx, const ChannelShape& shape, const Visit& visit) {
  const int64_t channels = shape.channels, inner = shape.inner;
  ctx.ParallelFor(shape.outer, 1.0 * channels * inner, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      if (inner == 1) {
#pragma GCC ivdep
        for (int64_t c = 0; c < channels; ++c) visit(o * channels + c, c);
        continue;
      }
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t start = (o * channels + c) * inner;
#pragma GCC ivdep
        for (int64_t i = start; i < start + inner; ++i) visit(i, c);
      }
    }
  });
}

// Computes out = in * factor + shift, with a factor and a shift for each channel.
template <typename T>
void Scale(KernelContext& ctx, const ChannelShape& shape, const T* in, const Vector& factors,
           const Vector& shifts, T* out) {
  ForEachElement(ctx, shape,
                 [in, out, factor = factors.data(), shift = shifts.data()](int64_t i, int64_t c) {
                   out[i] = static_cast<T>(static_cast<float>(in[i]) * factor[c] + shift[c]);
                 });
}

// Writes the statistics that are outputs. `mean` and `variance` are those that normalised x; the
// old ones are the moving estimates among the inputs.
absl::Status WriteStatistics(const BatchNorm::Operands& operands, const Vector& mean,
                             const Vector& variance, const Vector& old_mean,
                             const Vector& old_variance) {
  const int64_t count = operands.shape.outer * operands.shape.inner;
  const float factor = operands.average_factor;
  Vector out_mean = mean, out_variance = variance;
  for (size_t c = 0; c < mean.size(); ++c) {
    // Without elements there are no statistics, and the moving averages become NaN.
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
  if (operands.is_training && HasOrderedBatchNorm(operands.x, shape)) {
    Vector mean, variance;
    RETURN_IF_ERROR(BatchNormInOrder(ctx, operands, scale, offset, &mean, &variance));
    return WriteStatistics(operands, mean, variance, old_mean, old_variance);
  }
  return VisitRealType(operands.x.dtype(), [&]<typename T>() {
    const T* const in = operands.x.data<T>();
    Vector mean = old_mean, variance = old_variance;
    if (operands.is_training) {
      mean.resize(channels);
      variance.resize(channels);
      Moments(ctx, in, shape, &mean, &variance);
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

// With n = (x - mean) / sqrt(variance + epsilon), the gradient is dx = scale / sqrt(variance +
// epsilon) * (dy - average(dy) - n * average(dy * n)). The averages are 0 where the moments do not
// depend on x.
template <typename T>
void Gradient(KernelContext& ctx, const BatchNormGradient::Operands& operands) {
  const ChannelShape& shape = operands.shape;
  const int64_t channels = shape.channels;
  const T* const dy = operands.dy.data<T>();
  const T* const x = operands.x.data<T>();
  T* const dx = operands.dx->data<T>();
  const float* const mean = operands.mean.data<float>();
  // The sums of dy and of dy * (x - mean) for each channel.
  const std::vector<double> sums = SumChannels<2>(ctx, shape, [dy, x, mean](int64_t i, int64_t c) {
    const double d = static_cast<double>(dy[i]);
    return std::array{d, d * (static_cast<double>(x[i]) - static_cast<double>(mean[c]))};
  });
  const double points = static_cast<double>(shape.outer * shape.inner);
  const double share = operands.is_training && points > 0 ? 1 / points : 0;
  Vector factors(channels), averages(channels), slopes(channels);
  for (int64_t c = 0; c < channels; ++c) {
    const double variance = static_cast<double>(operands.variance.data<float>()[c]);
    const double inverse = 1 / std::sqrt(variance + operands.epsilon);
    const double sum = sums[c], product = sums[channels + c] * inverse;
    factors[c] = static_cast<float>(operands.scale.data<float>()[c] * inverse);
    averages[c] = static_cast<float>(share * sum);
    slopes[c] = static_cast<float>(share * product * inverse);
    operands.dscale->data<float>()[c] = static_cast<float>(product);
    operands.doffset->data<float>()[c] = static_cast<float>(sum);
  }
  ForEachElement(ctx, shape,
                 [dx, dy, x, mean, factor = factors.data(), average = averages.data(),
                  slope = slopes.data()](int64_t i, int64_t c) {
                   const float rest = static_cast<float>(dy[i]) - average[c] -
                                      (static_cast<float>(x[i]) - mean[c]) * slope[c];
                   dx[i] = static_cast<T>(factor[c] * rest);
                 });
}

absl::Status RunBatchNormGradient(KernelContext& ctx, const BatchNormGradient::Operands& operands) {
  if (operands.is_training && HasOrderedBatchNorm(operands.x, operands.shape)) {
    return BatchNormGradientInOrder(ctx, operands);
  }
  return VisitRealType(operands.x.dtype(), [&]<typename T>() {
    Gradient<T>(ctx, operands);
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(BatchNormGradient, kCpu, RunBatchNormGradient);

}  // namespace
}  // namespace tessera

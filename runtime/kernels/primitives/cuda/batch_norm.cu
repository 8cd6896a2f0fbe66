// Normalisations by channel: BatchNorm and its gradient, in training by cuDNN where that takes
// them, and ChannelNorm.
#include "runtime/kernels/primitives/batch_norm.h"
#include "runtime/kernels/primitives/channel_norm.h"
#include "runtime/kernels/primitives/cuda/activation_functions.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/neural_library.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"

namespace tessera::cuda {
namespace {

__device__ int64_t ChannelOf(const ChannelShape& shape, int64_t element) {
  return DivideIndex(DivideIndex(element, shape.inner).quotient, shape.channels).remainder;
}
int64_t CountOf(const ChannelShape& shape) { return shape.outer * shape.channels * shape.inner; }

// Sums over the points of each channel, in `slices` parts: a thread takes one part of a channel,
// and threads beside it take the next channels. Partial sums are [slices, channels].
struct ChannelSums {
  ChannelShape shape;
  int64_t slices, slice_points;

  // Calls visit(element) for each point of a slice of a channel.
  template <typename Visitor>
  __device__ void ForEachPoint(int64_t slice, int64_t channel, Visitor visit) const {
    const int64_t points = shape.outer * shape.inner;
    const int64_t limit = (slice + 1) * slice_points;
    for (int64_t p = slice * slice_points; p < (limit < points ? limit : points); ++p) {
      const Quotient place = DivideIndex(p, shape.inner);
      visit((place.quotient * shape.channels + channel) * shape.inner + place.remainder);
    }
  }
  // The total of a channel over all slices, in order.
  __device__ double Total(const double* partial, int64_t channel) const {
    double total = 0;
    for (int64_t s = 0; s < slices; ++s) total += partial[s * shape.channels + channel];
    return total;
  }
  int64_t items() const { return slices * shape.channels; }
};

ChannelSums MakeChannelSums(const ChannelShape& shape) {
  constexpr int64_t kEnoughThreads = int64_t{1} << 17;
  constexpr int64_t kLeastPoints = 32;
  const int64_t points = shape.outer * shape.inner;
  const int64_t wanted =
      std::max<int64_t>(1, kEnoughThreads / std::max<int64_t>(1, shape.channels));
  ChannelSums sums{shape, std::clamp<int64_t>(points / kLeastPoints, 1, wanted), 0};
  sums.slice_points = (points + sums.slices - 1) / sums.slices;
  return sums;
}

// Sums of x, or of (x - mean)^2 if there are means.
template <typename A>
__global__ void SumMoments(ChannelSums sums, Input<A> x, const double* means, double* partial) {
  for (int64_t item = FirstItem(); item < sums.slices * sums.shape.channels; item += ItemStep()) {
    const int64_t channel = item % sums.shape.channels;
    const double mean = means == nullptr ? 0 : means[channel];
    double total = 0;
    sums.ForEachPoint(item / sums.shape.channels, channel, [&](int64_t i) {
      const double difference = static_cast<double>(x[i]) - mean;
      total += means == nullptr ? difference : difference * difference;
    });
    partial[item] = total;
  }
}

__global__ void FinishMeans(ChannelSums sums, const double* partial, double* means) {
  const int64_t points = sums.shape.outer * sums.shape.inner;
  for (int64_t c = FirstItem(); c < sums.shape.channels; c += ItemStep()) {
    means[c] = points > 0 ? sums.Total(partial, c) / static_cast<double>(points) : 0;
  }
}

// The vectors of a batch norm, float or bfloat16.
struct Statistics {
  bool is_training;
  float epsilon, average_factor;
  Input<float> scale, offset, old_mean, old_variance;
  Output<float> average_mean, average_variance, saved_mean, saved_variance;
};

// Writes what a batch norm returns of channel `c`, whose `count` points have these moments.
__device__ void StoreStatistics(const Statistics& s, int64_t count, int64_t c, float mean,
                                float variance) {
  // There are no statistics of nothing.
  float average_mean = count == 0 ? math::kNaN : mean;
  float average_variance = count == 0 ? math::kNaN : variance;
  if (s.is_training && count > 1) {
    average_variance *= static_cast<float>(count) / static_cast<float>(count - 1);
  }
  if (s.is_training && s.average_factor != 1.0f) {
    const float rest = 1 - s.average_factor;
    average_mean = rest * s.old_mean[c] + s.average_factor * average_mean;
    average_variance = rest * s.old_variance[c] + s.average_factor * average_variance;
  }
  s.saved_mean.Set(c, mean);
  s.saved_variance.Set(c, variance);
  s.average_mean.Set(c, average_mean);
  s.average_variance.Set(c, average_variance);
}

// Writes the statistics, and for each channel the factor and the shift of y = x * factor + shift.
// `means` and `squares`, of ChannelSums, are read in training only.
__global__ void FinishStatistics(ChannelSums sums, Statistics s, const double* means,
                                 const double* squares, float* factors, float* shifts) {
  const int64_t count = sums.shape.outer * sums.shape.inner;
  for (int64_t c = FirstItem(); c < sums.shape.channels; c += ItemStep()) {
    float mean, variance;
    if (s.is_training) {
      mean = static_cast<float>(means[c]);
      variance =
          static_cast<float>(count > 0 ? sums.Total(squares, c) / static_cast<double>(count) : 0);
    } else {
      mean = s.old_mean[c];
      variance = s.old_variance[c];
    }
    factors[c] = s.scale[c] / std::sqrt(variance + s.epsilon);
    shifts[c] = s.offset[c] - mean * factors[c];
    StoreStatistics(s, count, c, mean, variance);
  }
}

__global__ void ScaleChannels(ChannelShape shape, int64_t count, Input<float> x,
                              const float* factors, const float* shifts, Output<float> y) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const int64_t c = ChannelOf(shape, i);
    y.Set(i, x[i] * factors[c] + shifts[c]);
  }
}

// Writes the statistics from the moments that a library has found.
__global__ void StoreLibraryStatistics(int64_t count, int64_t channels, Statistics s,
                                       const float* means, const float* unbiased_variances) {
  for (int64_t c = FirstItem(); c < channels; c += ItemStep()) {
    const float biased = static_cast<float>(count - 1) / static_cast<float>(count);
    StoreStatistics(s, count, c, means[c], unbiased_variances[c] * biased);
  }
}

__global__ void FillWithZeros(int64_t count, float* values) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) values[i] = 0;
}

Statistics StatisticsOf(const BatchNorm::Operands& operands) {
  return {operands.is_training, operands.epsilon,       operands.average_factor,
          operands.scale,       operands.offset,        operands.mean,
          operands.variance,    operands.average_mean,  operands.average_variance,
          operands.saved_mean,  operands.saved_variance};
}

// Training by a library; false if that does not take it. It normalises with a share of 1 in the
// moving averages, which then are the moments of the batch: nothing is lost as in a variance that
// is computed from a deviation with epsilon in it.
absl::StatusOr<bool> NormaliseByLibrary(KernelContext& ctx, const BatchNorm::Operands& operands) {
  const int64_t channels = operands.shape.channels;
  const int64_t points = operands.shape.outer * operands.shape.inner;
  if (!operands.is_training || points < 2 || channels == 0 ||
      operands.scale.dtype() != DType::kFloat || operands.offset.dtype() != DType::kFloat) {
    return false;
  }
  Tensor zeros, mean, inverse_deviation, moving_mean, unbiased_variance;
  for (Tensor* vector : {&zeros, &mean, &inverse_deviation, &moving_mean, &unbiased_variance}) {
    ASSIGN_OR_RETURN(*vector, ctx.AllocateTemp(DType::kFloat, Shape{channels}));
  }
  RETURN_IF_ERROR(LaunchItems(ctx, channels, FillWithZeros, channels, DataOf<float>(zeros)));
  ASSIGN_OR_RETURN(const bool done,
                   BatchNormByLibrary(ctx, {.shape = operands.shape,
                                            .epsilon = operands.epsilon,
                                            .x = operands.x,
                                            .scale = operands.scale,
                                            .offset = operands.offset,
                                            .zeros = zeros,
                                            .y = *operands.y,
                                            .mean = mean,
                                            .inverse_deviation = inverse_deviation,
                                            .moving_mean = moving_mean,
                                            .unbiased_variance = unbiased_variance}));
  if (!done) return false;
  RETURN_IF_ERROR(LaunchItems(ctx, channels, StoreLibraryStatistics, points, channels,
                              StatisticsOf(operands), DataOf<const float>(mean),
                              DataOf<const float>(unbiased_variance)));
  return true;
}

absl::Status RunBatchNorm(KernelContext& ctx, const BatchNorm::Operands& operands) {
  ASSIGN_OR_RETURN(const bool done, NormaliseByLibrary(ctx, operands));
  if (done) return absl::OkStatus();
  const ChannelSums sums = MakeChannelSums(operands.shape);
  const int64_t channels = operands.shape.channels;
  ASSIGN_OR_RETURN(Tensor means_memory, ctx.AllocateTemp(DType::kDouble, Shape{channels}));
  ASSIGN_OR_RETURN(Tensor partial_memory, ctx.AllocateTemp(DType::kDouble, Shape{sums.items()}));
  ASSIGN_OR_RETURN(Tensor factors_memory, ctx.AllocateTemp(DType::kFloat, Shape{2, channels}));
  double *means = DataOf<double>(means_memory), *partial = DataOf<double>(partial_memory);
  float* const factors = DataOf<float>(factors_memory);
  const Input<float> x(operands.x);
  if (operands.is_training) {
    RETURN_IF_ERROR(LaunchItems(ctx, sums.items(), SumMoments<float>, sums, x,
                                static_cast<const double*>(nullptr), partial));
    RETURN_IF_ERROR(LaunchItems(ctx, channels, FinishMeans, sums, partial, means));
    RETURN_IF_ERROR(LaunchItems(ctx, sums.items(), SumMoments<float>, sums, x, means, partial));
  }
  RETURN_IF_ERROR(LaunchItems(ctx, channels, FinishStatistics, sums, StatisticsOf(operands), means,
                              partial, factors, factors + channels));
  return LaunchItems(ctx, CountOf(operands.shape), ScaleChannels, operands.shape,
                     CountOf(operands.shape), x, factors, factors + channels,
                     Output<float>(operands.y));
}
REGISTER_CUDA_PRIMITIVE(BatchNorm, RunBatchNorm);

// Sums of dy, and of dy * (x - mean).
__global__ void SumGradients(ChannelSums sums, Input<float> dy, Input<float> x, const float* mean,
                             double* partial, double* partial_products) {
  for (int64_t item = FirstItem(); item < sums.slices * sums.shape.channels; item += ItemStep()) {
    const int64_t channel = item % sums.shape.channels;
    double total = 0, products = 0;
    sums.ForEachPoint(item / sums.shape.channels, channel, [&](int64_t i) {
      const double d = dy[i];
      total += d;
      products += d * (static_cast<double>(x[i]) - static_cast<double>(mean[channel]));
    });
    partial[item] = total;
    partial_products[item] = products;
  }
}

// Of each channel: dx = factor * (dy - average - (x - mean) * slope).
struct GradientFactors {
  float *factor, *average, *slope;
};

__global__ void FinishGradients(ChannelSums sums, const double* partial,
                                const double* partial_products, bool is_training, float epsilon,
                                const float* scale, const float* variance, GradientFactors factors,
                                float* dscale, float* doffset) {
  const double points = static_cast<double>(sums.shape.outer * sums.shape.inner);
  const double share = is_training && points > 0 ? 1 / points : 0;
  for (int64_t c = FirstItem(); c < sums.shape.channels; c += ItemStep()) {
    const double inverse = 1 / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    const double sum = sums.Total(partial, c);
    const double product = sums.Total(partial_products, c) * inverse;
    factors.factor[c] = static_cast<float>(scale[c] * inverse);
    factors.average[c] = static_cast<float>(share * sum);
    factors.slope[c] = static_cast<float>(share * product * inverse);
    dscale[c] = static_cast<float>(product);
    doffset[c] = static_cast<float>(sum);
  }
}

__global__ void ScaleGradients(ChannelShape shape, int64_t count, Input<float> dy, Input<float> x,
                               const float* mean, GradientFactors factors, Output<float> dx) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const int64_t c = ChannelOf(shape, i);
    const float rest = dy[i] - factors.average[c] - (x[i] - mean[c]) * factors.slope[c];
    dx.Set(i, factors.factor[c] * rest);
  }
}

__global__ void InvertDeviations(int64_t channels, float epsilon, const float* variance,
                                 float* inverse) {
  for (int64_t c = FirstItem(); c < channels; c += ItemStep()) {
    inverse[c] = static_cast<float>(1 / std::sqrt(static_cast<double>(variance[c]) + epsilon));
  }
}

// The gradient of training by a library; false if that does not take it.
absl::StatusOr<bool> DifferentiateByLibrary(KernelContext& ctx,
                                            const BatchNormGradient::Operands& operands) {
  const int64_t channels = operands.shape.channels;
  if (!operands.is_training || CountOf(operands.shape) == 0) return false;
  ASSIGN_OR_RETURN(Tensor inverse, ctx.AllocateTemp(DType::kFloat, Shape{channels}));
  RETURN_IF_ERROR(LaunchItems(ctx, channels, InvertDeviations, channels, operands.epsilon,
                              DataOf<const float>(operands.variance), DataOf<float>(inverse)));
  return BatchNormGradientByLibrary(ctx, {.shape = operands.shape,
                                          .dy = operands.dy,
                                          .x = operands.x,
                                          .scale = operands.scale,
                                          .mean = operands.mean,
                                          .inverse_deviation = inverse,
                                          .dx = *operands.dx,
                                          .dscale = *operands.dscale,
                                          .doffset = *operands.doffset});
}

absl::Status RunBatchNormGradient(KernelContext& ctx, const BatchNormGradient::Operands& operands) {
  ASSIGN_OR_RETURN(const bool done, DifferentiateByLibrary(ctx, operands));
  if (done) return absl::OkStatus();
  const ChannelSums sums = MakeChannelSums(operands.shape);
  const int64_t channels = operands.shape.channels, items = sums.items();
  ASSIGN_OR_RETURN(Tensor partial_memory, ctx.AllocateTemp(DType::kDouble, Shape{2, items}));
  ASSIGN_OR_RETURN(Tensor factors_memory, ctx.AllocateTemp(DType::kFloat, Shape{3, channels}));
  double* const partial = DataOf<double>(partial_memory);
  float* const memory = DataOf<float>(factors_memory);
  const GradientFactors factors{memory, memory + channels, memory + 2 * channels};
  const Input<float> dy(operands.dy), x(operands.x);
  const float* const mean = DataOf<const float>(operands.mean);
  RETURN_IF_ERROR(
      LaunchItems(ctx, items, SumGradients, sums, dy, x, mean, partial, partial + items));
  RETURN_IF_ERROR(LaunchItems(
      ctx, channels, FinishGradients, sums, partial, partial + items, operands.is_training,
      operands.epsilon, DataOf<const float>(operands.scale), DataOf<const float>(operands.variance),
      factors, DataOf<float>(*operands.dscale), DataOf<float>(*operands.doffset)));
  return LaunchItems(ctx, CountOf(operands.shape), ScaleGradients, operands.shape,
                     CountOf(operands.shape), dy, x, mean, factors, Output<float>(operands.dx));
}
REGISTER_CUDA_PRIMITIVE(BatchNormGradient, RunBatchNormGradient);

// Integers are normalised as floats, as on the CPU.
template <typename A>
__global__ void NormaliseChannels(ChannelShape shape, int64_t count, float epsilon,
                                  Activation activation, float alpha, Input<A> scale,
                                  Input<A> offset, Input<A> mean, Input<A> variance,
                                  Output<A> values) {
  using T = std::conditional_t<std::is_same_v<A, double>, double, float>;
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const int64_t c = ChannelOf(shape, i);
    const T factor =
        static_cast<T>(scale[c]) / std::sqrt(static_cast<T>(variance[c]) + static_cast<T>(epsilon));
    const T y =
        (static_cast<T>(values[i]) - static_cast<T>(mean[c])) * factor + static_cast<T>(offset[c]);
    values.Set(i, static_cast<A>(Activated(activation, alpha, y)));
  }
}

absl::Status RunChannelNorm(KernelContext& ctx, const ChannelNorm::Operands& operands) {
  return VisitComputeType<kReal>(operands.values->dtype(), [&]<typename A>() {
    return LaunchItems(ctx, CountOf(operands.shape), NormaliseChannels<A>, operands.shape,
                       CountOf(operands.shape), operands.epsilon, operands.activation,
                       operands.alpha, Input<A>(operands.scale), Input<A>(operands.offset),
                       Input<A>(operands.mean), Input<A>(operands.variance),
                       Output<A>(operands.values));
  });
}
REGISTER_CUDA_PRIMITIVE(ChannelNorm, RunChannelNorm);

}  // namespace
}  // namespace tessera::cuda

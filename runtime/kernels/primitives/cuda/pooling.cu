// Pools and their gradients, by cuDNN where that takes them. Gradients are gathered: a thread looks
// at all windows that its element lies in, so that sums are made in one order and nothing is
// written twice. Gradients of max pools are made here alone: which of equal maxima gets one is part
// of the contract, and cuDNN does not promise it.
#include <type_traits>

#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/neural_library.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/sorted_pairs.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/pooling.h"

namespace tessera::cuda {
namespace {

// An element of an image: the image, the channel and the spatial coordinates.
struct PoolElement {
  int64_t image, channel, at[3];
};

TESSERA_DEVICE_FUNCTION int64_t PointsOf(const int64_t* dims) {
  return dims[0] * dims[1] * dims[2];
}

__device__ PoolElement ElementAt(const PoolShape& s, const int64_t* dims, int64_t i) {
  const int64_t points = PointsOf(dims);
  PoolElement e;
  int64_t point;
  if (s.channels_first) {
    const Quotient line = DivideIndex(i, points), image = DivideIndex(line.quotient, s.channels);
    point = line.remainder, e.channel = image.remainder, e.image = image.quotient;
  } else {
    const Quotient pixel = DivideIndex(i, s.channels), image = DivideIndex(pixel.quotient, points);
    e.channel = pixel.remainder, point = image.remainder, e.image = image.quotient;
  }
  const Quotient x = DivideIndex(point, dims[2]), y = DivideIndex(x.quotient, dims[1]);
  e.at[0] = y.quotient, e.at[1] = y.remainder, e.at[2] = x.remainder;
  return e;
}

__device__ int64_t IndexOf(const PoolShape& s, const int64_t* dims, const PoolElement& e) {
  const int64_t point = (e.at[0] * dims[1] + e.at[1]) * dims[2] + e.at[2];
  return s.channels_first ? (e.image * s.channels + e.channel) * PointsOf(dims) + point
                          : (e.image * PointsOf(dims) + point) * s.channels + e.channel;
}

struct PoolRange {
  int64_t begin[3], end[3];

  // Calls visit(z, y, x) in row-major order.
  template <typename Visitor>
  __device__ void ForEach(Visitor visit) const {
    for (int64_t z = begin[0]; z < end[0]; ++z) {
      for (int64_t y = begin[1]; y < end[1]; ++y) {
        for (int64_t x = begin[2]; x < end[2]; ++x) visit(z, y, x);
      }
    }
  }
  __device__ int64_t count() const {
    int64_t product = 1;
    for (int d = 0; d < 3; ++d) product *= end[d] > begin[d] ? end[d] - begin[d] : 0;
    return product;
  }
};

// The input points in the window of an output point.
__device__ PoolRange WindowOf(const PoolShape& s, const int64_t* output) {
  PoolRange range;
  for (int d = 0; d < 3; ++d) {
    const int64_t first = output[d] * s.stride[d] - s.pad[d], last = first + s.window[d];
    range.begin[d] = first > 0 ? first : 0;
    range.end[d] = last < s.input[d] ? last : s.input[d];
  }
  return range;
}

// The output points in whose window an input point lies.
__device__ PoolRange WindowsAround(const PoolShape& s, const int64_t* input) {
  PoolRange range;
  for (int d = 0; d < 3; ++d) {
    const int64_t above = input[d] + s.pad[d] - s.window[d];
    const int64_t last = (input[d] + s.pad[d]) / s.stride[d] + 1;
    range.begin[d] = above < 0 ? 0 : above / s.stride[d] + 1;
    range.end[d] = last < s.output[d] ? last : s.output[d];
  }
  return range;
}

// Calls visit(input index) for each element of the window of an output element.
template <typename Visitor>
__device__ void ForWindow(const PoolShape& s, const PoolElement& output, Visitor visit) {
  WindowOf(s, output.at).ForEach([&](int64_t z, int64_t y, int64_t x) {
    visit(IndexOf(s, s.input, {output.image, output.channel, {z, y, x}}));
  });
}

// The first maximum of a window; -1 for an empty window. The first element counts even if it is
// NaN, later NaNs are passed over.
template <typename A>
__device__ int64_t FirstMaximum(const PoolShape& s, const PoolElement& output, Input<A> input) {
  int64_t best = -1;
  A greatest{};
  ForWindow(s, output, [&](int64_t i) {
    const A value = input[i];
    if (best >= 0 && !(greatest < value)) return;
    best = i;
    greatest = value;
  });
  return best;
}

template <typename A>
__global__ void MaxPoolElements(int64_t count, PoolShape s, MaxPoolRule rule, Input<A> input,
                                Output<A> output) {
  const bool propagates = rule == MaxPoolRule::kPropagateNan;
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    A greatest = LeastFinite<A>(output.dtype);
    bool is_first = propagates;
    ForWindow(s, ElementAt(s, s.output, i), [&](int64_t source) {
      const A value = input[source];
      if (is_first || greatest < value || (propagates && value != value)) greatest = value;
      is_first = false;
    });
    output.Set(i, greatest);
  }
}

// Returns true if a library has done it, or if there is nothing to do.
absl::StatusOr<bool> IsDoneByLibrary(KernelContext& ctx, PoolMode mode, const PoolShape& shape,
                                     const Tensor& from, Tensor* to) {
  if (to->num_elements() == 0) return true;
  if (from.num_elements() == 0) return false;
  return PoolByLibrary(ctx, mode, shape, from, *to);
}

absl::Status RunMaxPool(KernelContext& ctx, const PoolShape& shape, MaxPoolRule rule,
                        const Tensor& input, Tensor* output) {
  if (rule == MaxPoolRule::kIgnoreNan) {
    ASSIGN_OR_RETURN(const bool done, IsDoneByLibrary(ctx, PoolMode::kMax, shape, input, output));
    if (done) return absl::OkStatus();
  } else if (output->num_elements() == 0) {
    return absl::OkStatus();
  }
  return VisitComputeType<kReal>(input.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, output->num_elements(), MaxPoolElements<A>, output->num_elements(),
                       shape, rule, Input<A>(input), Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(MaxPool, RunMaxPool);

template <typename A>
__global__ void AveragePoolElements(int64_t count, PoolShape s, Input<A> input, Output<A> output) {
  using Sum = std::conditional_t<std::is_same_v<A, double>, double, float>;
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const PoolElement element = ElementAt(s, s.output, i);
    Sum sum = 0;
    ForWindow(s, element, [&](int64_t source) { sum += static_cast<Sum>(input[source]); });
    const int64_t points = WindowOf(s, element.at).count();
    output.Set(i, static_cast<A>(sum / static_cast<Sum>(points)));
  }
}

absl::Status RunAveragePool(KernelContext& ctx, const PoolShape& shape, const Tensor& input,
                            Tensor* output) {
  ASSIGN_OR_RETURN(const bool done, IsDoneByLibrary(ctx, PoolMode::kAverage, shape, input, output));
  if (done) return absl::OkStatus();
  return VisitComputeType<kReal>(input.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, output->num_elements(), AveragePoolElements<A>, output->num_elements(),
                       shape, Input<A>(input), Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(AveragePool, RunAveragePool);

template <typename A>
__global__ void ChannelMaxPoolElements(int64_t count, int64_t window, Input<A> input,
                                       Output<A> output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    A greatest = input[i * window];
    for (int64_t c = 1; c < window; ++c) {
      const A value = input[i * window + c];
      greatest = greatest < value ? value : greatest;
    }
    output.Set(i, greatest);
  }
}

absl::Status RunChannelMaxPool(KernelContext& ctx, int64_t window, const Tensor& input,
                               Tensor* output) {
  return VisitComputeType<kReal>(input.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, output->num_elements(), ChannelMaxPoolElements<A>,
                       output->num_elements(), window, Input<A>(input), Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(ChannelMaxPool, RunChannelMaxPool);

template <typename A>
__global__ void MaxPoolWithArgmaxElements(int64_t count, PoolShape s, ArgmaxScope scope,
                                          Input<A> input, Output<A> output,
                                          Output<int64_t> argmax) {
  const int64_t image_size = PointsOf(s.input) * s.channels;
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const PoolElement element = ElementAt(s, s.output, i);
    const int64_t best = FirstMaximum(s, element, input);
    output.Set(i, best < 0 ? LeastFinite<A>(output.dtype) : input[best]);
    argmax.Set(i, scope == ArgmaxScope::kBatch ? best : best - element.image * image_size);
  }
}

absl::Status RunMaxPoolWithArgmax(KernelContext& ctx, const PoolShape& shape, ArgmaxScope scope,
                                  const Tensor& input, Tensor* output, Tensor* argmax) {
  return VisitComputeType<kReal>(input.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, output->num_elements(), MaxPoolWithArgmaxElements<A>,
                       output->num_elements(), shape, scope, Input<A>(input), Output<A>(output),
                       Output<int64_t>(argmax));
  });
}
REGISTER_CUDA_PRIMITIVE(MaxPoolWithArgmax, RunMaxPoolWithArgmax);

template <typename A>
__global__ void MaxPoolGradients(int64_t count, PoolShape s, EqualMaxima equal, Input<A> input,
                                 Input<A> gradient, Output<A> output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const PoolElement element = ElementAt(s, s.input, i);
    A sum = 0;
    WindowsAround(s, element.at).ForEach([&](int64_t z, int64_t y, int64_t x) {
      const PoolElement window{element.image, element.channel, {z, y, x}};
      const int64_t best = FirstMaximum(s, window, input);
      bool counts = best == i;
      if (equal == EqualMaxima::kAll) {
        counts = std::is_integral_v<A>
                     ? input[best] == input[i]
                     : input[best] - input[i] < static_cast<A>(kEqualMaximaDistance);
      }
      if (counts) {
        sum += gradient[IndexOf(s, s.output, window)];
      }
    });
    output.Set(i, sum);
  }
}

absl::Status RunMaxPoolGradient(KernelContext& ctx, const PoolShape& shape, EqualMaxima equal,
                                const Tensor& input, const Tensor& gradient, Tensor* output) {
  return VisitComputeType<kReal>(input.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, output->num_elements(), MaxPoolGradients<A>, output->num_elements(),
                       shape, equal, Input<A>(input), Input<A>(gradient), Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(MaxPoolGradient, RunMaxPoolGradient);

template <typename A>
__global__ void MaxPoolSecondGradients(int64_t count, PoolShape s, Input<A> input,
                                       Input<A> gradient, Output<A> output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const int64_t best = FirstMaximum(s, ElementAt(s, s.output, i), input);
    output.Set(i, best < 0 ? A{0} : gradient[best]);
  }
}

absl::Status RunMaxPoolSecondGradient(KernelContext& ctx, const PoolShape& shape,
                                      const Tensor& input, const Tensor& gradient, Tensor* output) {
  return VisitComputeType<kReal>(input.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, output->num_elements(), MaxPoolSecondGradients<A>,
                       output->num_elements(), shape, Input<A>(input), Input<A>(gradient),
                       Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(MaxPoolSecondGradient, RunMaxPoolSecondGradient);

// Where each element of the gradient goes in the whole batch.
__global__ void FindPlaces(int64_t count, int64_t pooled_size, int64_t image_size, Indices argmax,
                           int64_t* places) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    places[i] = argmax[i] + i / pooled_size * image_size;
  }
}

absl::Status RunArgmaxPoolGradient(KernelContext& ctx, const PoolShape& shape, ArgmaxScope scope,
                                   const Tensor& argmax, const Tensor& gradient, Tensor* output) {
  if (scope == ArgmaxScope::kBatch) return AddUpByPlace(ctx, argmax, gradient, output);
  const int64_t count = gradient.num_elements();
  ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemp(DType::kInt64, Shape{count}));
  RETURN_IF_ERROR(LaunchItems(ctx, count, FindPlaces, count, shape.output_points() * shape.channels,
                              shape.input_points() * shape.channels, Indices(argmax),
                              DataOf<int64_t>(places)));
  return AddUpByPlace(ctx, places, gradient, output);
}
REGISTER_CUDA_PRIMITIVE(ArgmaxPoolGradient, RunArgmaxPoolGradient);

template <typename A>
__global__ void AveragePoolGradients(int64_t count, PoolShape s, Input<A> gradient,
                                     Output<A> output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const PoolElement element = ElementAt(s, s.input, i);
    A sum = 0;
    WindowsAround(s, element.at).ForEach([&](int64_t z, int64_t y, int64_t x) {
      const PoolElement window{element.image, element.channel, {z, y, x}};
      const A points = static_cast<A>(WindowOf(s, window.at).count());
      sum += gradient[IndexOf(s, s.output, window)] / points;
    });
    output.Set(i, sum);
  }
}

absl::Status RunAveragePoolGradient(KernelContext& ctx, const PoolShape& shape,
                                    const Tensor& gradient, Tensor* output) {
  ASSIGN_OR_RETURN(const bool done,
                   IsDoneByLibrary(ctx, PoolMode::kAverageGradient, shape, gradient, output));
  if (done) return absl::OkStatus();
  return VisitComputeType<kReal>(output->dtype(), [&]<typename A>() {
    return LaunchItems(ctx, output->num_elements(), AveragePoolGradients<A>, output->num_elements(),
                       shape, Input<A>(gradient), Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(AveragePoolGradient, RunAveragePoolGradient);

}  // namespace
}  // namespace tessera::cuda

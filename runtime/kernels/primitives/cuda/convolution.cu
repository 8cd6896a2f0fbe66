// Convolutions and their gradients: by cuDNN what that takes, all else by plain kernels, which read
// each operand where it lies. What follows a convolution is part of cuDNN's call if that takes it,
// or else one kernel of its own.
#include <optional>

#include "runtime/kernels/primitives/convolution.h"
#include "runtime/kernels/primitives/convolution_gradient.h"
#include "runtime/kernels/primitives/cuda/convolve.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/epilogue.h"
#include "runtime/kernels/primitives/cuda/product_library.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/device_constant.h"

namespace tessera::cuda {
namespace {

constexpr int kMaxSpatial = 3;

// A tensor of images: the distances of images, of points and of channels, and the spatial sizes.
struct Images {
  int64_t dims[kMaxSpatial], points, channels, image_step, point_step, channel_step;

  __device__ int64_t Index(int64_t image, int64_t point, int64_t channel) const {
    return image * image_step + point * point_step + channel * channel_step;
  }
};

struct ConvolutionWork {
  int64_t batch, group_in, group_out;
  Images in, out;
  int64_t filter[kMaxSpatial], positions;
  int64_t stride[kMaxSpatial], dilation[kMaxSpatial], pad[kMaxSpatial];
  bool channels_first;

  // The element of the filter at a position, for an input channel of the group and an output one.
  __device__ int64_t FilterIndex(int64_t position, int64_t in, int64_t out_channel) const {
    return (position * group_in + in) * out.channels + out_channel;
  }

  // The input point under a filter position at an output point; -1 in the padding.
  __device__ int64_t InputPoint(int64_t point, int64_t position) const {
    int64_t result = 0, step = 1;
    for (int d = kMaxSpatial - 1; d >= 0; --d) {
      const Quotient p = DivideIndex(point, out.dims[d]), f = DivideIndex(position, filter[d]);
      point = p.quotient, position = f.quotient;
      const int64_t at = p.remainder * stride[d] - pad[d] + f.remainder * dilation[d];
      if (at < 0 || at >= in.dims[d]) return -1;
      result += at * step;
      step *= in.dims[d];
    }
    return result;
  }
  // The output point at which a filter position lies over an input point; -1 if there is none.
  __device__ int64_t OutputPoint(int64_t point, int64_t position) const {
    int64_t result = 0, step = 1;
    for (int d = kMaxSpatial - 1; d >= 0; --d) {
      const Quotient p = DivideIndex(point, in.dims[d]), f = DivideIndex(position, filter[d]);
      point = p.quotient, position = f.quotient;
      const int64_t scaled = p.remainder + pad[d] - f.remainder * dilation[d];
      if (scaled < 0 || scaled % stride[d] != 0) return -1;
      const int64_t at = scaled / stride[d];
      if (at >= out.dims[d]) return -1;
      result += at * step;
      step *= out.dims[d];
    }
    return result;
  }
};

// Where a running number over [batch, points, channels], or [batch, channels, points], is.
struct ImageElement {
  int64_t image, point, channel;
};
__device__ ImageElement ElementAt(const Images& images, bool channels_first, int64_t i) {
  if (channels_first) {
    const Quotient p = DivideIndex(i, images.points), c = DivideIndex(p.quotient, images.channels);
    return {c.quotient, p.remainder, c.remainder};
  }
  const Quotient c = DivideIndex(i, images.channels), p = DivideIndex(c.quotient, images.points);
  return {p.quotient, p.remainder, c.remainder};
}

// The factor of a scaled filter for an output channel.
struct FilterScale {
  const double* scale;  // null: 1
  int64_t channels;     // of the scale, which are the last elements of the filter
  template <typename A>
  __device__ A Apply(A value, int64_t filter_index) const {
    if constexpr (std::is_same_v<A, float>) {
      if (scale != nullptr) return static_cast<float>(value * scale[filter_index % channels]);
    }
    return value;
  }
};

template <typename A>
__global__ void ConvolveForward(int64_t count, ConvolutionWork w, Input<A> input, Input<A> filter,
                                FilterScale scale, Epilogue<A> epilogue, Output<A> output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const ImageElement e = ElementAt(w.out, w.channels_first, i);
    const int64_t first = e.channel / w.group_out * w.group_in;
    A sum = 0;
    for (int64_t position = 0; position < w.positions; ++position) {
      const int64_t point = w.InputPoint(e.point, position);
      if (point < 0) continue;
      for (int64_t c = 0; c < w.group_in; ++c) {
        const int64_t f = w.FilterIndex(position, c, e.channel);
        sum += input[w.in.Index(e.image, point, first + c)] * scale.Apply(filter[f], f);
      }
    }
    epilogue.Store(sum, e.channel, i, output);
  }
}

template <typename A>
__global__ void ConvolveInputGradient(int64_t count, ConvolutionWork w, Input<A> gradient,
                                      Input<A> filter, Output<A> output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const ImageElement e = ElementAt(w.in, w.channels_first, i);
    const int64_t group = e.channel / w.group_in, channel = e.channel % w.group_in;
    A sum = 0;
    for (int64_t position = 0; position < w.positions; ++position) {
      const int64_t point = w.OutputPoint(e.point, position);
      if (point < 0) continue;
      for (int64_t o = group * w.group_out; o < (group + 1) * w.group_out; ++o) {
        sum +=
            gradient[w.out.Index(e.image, point, o)] * filter[w.FilterIndex(position, channel, o)];
      }
    }
    output.Set(i, sum);
  }
}

// The threads of a row share one element of the filter.
template <typename A>
__global__ void ConvolveFilterGradient(Rows rows, ConvolutionWork w, Input<A> input,
                                       Input<A> gradient, Output<A> output) {
  for (int64_t i = rows.First(); i < rows.count; i += rows.Step()) {
    const int64_t o = i % w.out.channels, c = i / w.out.channels % w.group_in;
    const int64_t position = i / w.out.channels / w.group_in;
    const int64_t channel = o / w.group_out * w.group_in + c;
    A sum = 0;
    for (int64_t at = rows.Lane(); at < w.batch * w.out.points; at += rows.threads) {
      const Quotient image = DivideIndex(at, w.out.points);
      const int64_t point = w.InputPoint(image.remainder, position);
      if (point < 0) continue;
      sum += input[w.in.Index(image.quotient, point, channel)] *
             gradient[w.out.Index(image.quotient, image.remainder, o)];
    }
    sum = rows.Reduce(sum, [](A a, A b) { return a + b; });
    if (rows.Lane() == 0) output.Set(i, sum);
  }
}

// Bias, addend and activation of what cuDNN has made.
template <typename A>
__global__ void FinishConvolution(int64_t count, ConvolutionWork w, Input<A> sums,
                                  Epilogue<A> epilogue, Output<A> output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    epilogue.Store(sums[i], ElementAt(w.out, w.channels_first, i).channel, i, output);
  }
}

Images ImagesOf(const SpatialDims& dims, int64_t channels, bool channels_first) {
  Images images{{1, 1, 1}, 1, channels, 0, 0, 0};
  for (size_t d = 0; d < dims.size(); ++d) {
    images.dims[kMaxSpatial - dims.size() + d] = dims[d];
    images.points *= dims[d];
  }
  images.image_step = images.points * channels;
  images.point_step = channels_first ? 1 : channels;
  images.channel_step = channels_first ? images.points : 1;
  return images;
}

ConvolutionWork WorkOf(const ConvolutionShape& shape) {
  ConvolutionWork work{shape.batch,
                       shape.in_channels / shape.groups,
                       shape.out_channels / shape.groups,
                       ImagesOf(shape.input, shape.in_channels, shape.channels_first),
                       ImagesOf(shape.output, shape.out_channels, shape.channels_first),
                       {1, 1, 1},
                       1,
                       {1, 1, 1},
                       {1, 1, 1},
                       {0, 0, 0},
                       shape.channels_first};
  const size_t rank = shape.filter.size();
  for (size_t d = 0; d < rank; ++d) {
    const size_t to = kMaxSpatial - rank + d;
    work.filter[to] = shape.filter[d];
    work.positions *= shape.filter[d];
    work.stride[to] = shape.strides[d];
    work.dilation[to] = shape.dilations[d];
    work.pad[to] = shape.pad_before[d];
  }
  return work;
}

FilterScale ScaleOf(const ScaledWeights& filter) {
  if (filter.scale == nullptr) return {nullptr, 1};
  return {DataOf<const double>(*filter.scale), filter.scale->num_elements()};
}

absl::Status FinishByKernel(KernelContext& ctx, const ConvolutionShape& shape,
                            const PostOps& post_ops, const Tensor& sums, const Tensor* bias,
                            Tensor* output) {
  return VisitComputeType<kFloating>(output->dtype(), [&]<typename A>() {
    return LaunchItems(ctx, output->num_elements(), FinishConvolution<A>, output->num_elements(),
                       WorkOf(shape), Input<A>(sums), Epilogue<A>(post_ops, bias, output->dtype()),
                       Output<A>(output));
  });
}

// False if cuDNN does not take the convolution.
absl::StatusOr<bool> ForwardByLibrary(KernelContext& ctx, const ConvolutionShape& shape,
                                      const PostOps& post_ops, const Tensor& input,
                                      const LibraryFilter& filter, const PostOpInputs& inputs,
                                      Tensor* output) {
  const bool adds_output =
      inputs.addend != nullptr && inputs.addend->address() == output->address();
  if (!adds_output) {
    ASSIGN_OR_RETURN(const bool made, ConvolveByLibrary(ctx, ConvolutionDirection::kForward, shape,
                                                        input, filter, *output, post_ops, inputs));
    if (made || post_ops == PostOps()) return made;
  }
  Tensor sums = *output;
  if (post_ops.add) {
    ASSIGN_OR_RETURN(sums, ctx.AllocateTemp(output->dtype(), output->shape()));
  }
  ASSIGN_OR_RETURN(const bool made, ConvolveByLibrary(ctx, ConvolutionDirection::kForward, shape,
                                                      input, filter, sums));
  if (!made) return false;
  RETURN_IF_ERROR(CopyAddend(ctx, inputs, output));
  RETURN_IF_ERROR(FinishByKernel(ctx, shape, post_ops, sums, inputs.bias, output));
  return true;
}

class CudaConvolution final : public Convolution {
 public:
  // `filter` is null unless it is constant; it lies in host memory.
  explicit CudaConvolution(const Tensor* filter) {
    if (filter != nullptr && filter->num_elements() > 0) constant_filter_ = *filter;
  }

  absl::Status Prepare(const PrepareContext& context, int out_dims) override {
    if (!constant_filter_.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(arranged_, ArrangeFilter(constant_filter_, out_dims));
    constant_filter_ = Tensor();
    if (!arranged_.has_value()) return absl::OkStatus();
    return MoveToDevice(context.device, &*arranged_);
  }

  absl::Status Run(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                   const Tensor& input, const ScaledWeights& filter, const PostOpInputs& inputs,
                   Tensor* output) override {
    return Convolve(ctx, shape, post_ops, input, filter, inputs, output,
                    arranged_.has_value() ? &*arranged_ : nullptr);
  }

 private:
  Tensor constant_filter_;          // until Prepare()
  std::optional<Tensor> arranged_;  // for LibraryFilter, in the memory of the device
};

REGISTER_CUDA_PRIMITIVE(
    Convolution, [](const KernelBuild& build, int filter_input) -> std::unique_ptr<Convolution> {
      return std::make_unique<CudaConvolution>(build.constant_input(filter_input));
    });

absl::Status RunInputGradient(KernelContext& ctx, const ConvolutionShape& shape,
                              const Tensor& gradient, const Tensor& filter, Tensor* output) {
  const int64_t count = output->num_elements();
  if (count == 0) return absl::OkStatus();
  if (gradient.num_elements() > 0 && filter.num_elements() > 0) {
    ASSIGN_OR_RETURN(const bool made, ConvolveByLibrary(ctx, ConvolutionDirection::kInputGradient,
                                                        shape, *output, filter, gradient));
    if (made) return absl::OkStatus();
  }
  return VisitComputeType<kReal>(gradient.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, ConvolveInputGradient<A>, count, WorkOf(shape),
                       Input<A>(gradient), Input<A>(filter), Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(ConvolutionInputGradient, RunInputGradient);

absl::Status RunFilterGradient(KernelContext& ctx, const ConvolutionShape& shape,
                               const Tensor& input, const Tensor& gradient, Tensor* output) {
  const int64_t count = output->num_elements();
  if (count == 0) return absl::OkStatus();
  if (gradient.num_elements() > 0 && input.num_elements() > 0) {
    ASSIGN_OR_RETURN(const bool made, ConvolveByLibrary(ctx, ConvolutionDirection::kFilterGradient,
                                                        shape, input, *output, gradient));
    if (made) return absl::OkStatus();
  }
  const ConvolutionWork work = WorkOf(shape);
  return VisitComputeType<kReal>(gradient.dtype(), [&]<typename A>() {
    return LaunchRows(ctx, count, work.batch * work.out.points, ConvolveFilterGradient<A>, work,
                      Input<A>(input), Input<A>(gradient), Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(ConvolutionFilterGradient, RunFilterGradient);

__global__ void ScaleFilter(int64_t count, const float* values, FilterScale scale, float* to) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) to[i] = scale.Apply(values[i], i);
}

absl::StatusOr<Tensor> RunScaleWeights(KernelContext& ctx, const ScaledWeights& weights) {
  const int64_t count = weights.values.num_elements();
  if (weights.scale == nullptr || count == 0) return weights.values;
  ASSIGN_OR_RETURN(Tensor scaled, ctx.AllocateState(DType::kFloat, weights.values.shape()));
  RETURN_IF_ERROR(LaunchItems(ctx, count, ScaleFilter, count, DataOf<const float>(weights.values),
                              ScaleOf(weights), DataOf<float>(scaled)));
  return scaled;
}
REGISTER_CUDA_PRIMITIVE(ScaleWeights, RunScaleWeights);

}  // namespace

absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                      const Tensor& input, const ScaledWeights& filter, const PostOpInputs& inputs,
                      Tensor* output, const Tensor* arranged_filter) {
  const int64_t count = output->num_elements();
  if (count == 0) return absl::OkStatus();
  if (input.num_elements() > 0 && filter.values.num_elements() > 0 && filter.scale == nullptr) {
    ASSIGN_OR_RETURN(
        const bool made,
        ForwardByLibrary(ctx, shape, post_ops, input, LibraryFilter(filter.values, arranged_filter),
                         inputs, output));
    if (made) return absl::OkStatus();
  }
  RETURN_IF_ERROR(CopyAddend(ctx, inputs, output));
  return VisitComputeType<kReal>(input.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, ConvolveForward<A>, count, WorkOf(shape), Input<A>(input),
                       Input<A>(filter.values), ScaleOf(filter),
                       Epilogue<A>(post_ops, inputs.bias, output->dtype()), Output<A>(output));
  });
}

}  // namespace tessera::cuda

// Images whose pixels come from other images. Each thread gathers what makes its element, of
// gradients too, so that sums are made in one order.
#include <vector>

#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/nearest_pixels.h"
#include "runtime/kernels/primitives/resample.h"

namespace tessera::cuda {
namespace {

struct ImageSize {
  int64_t height, width, channels;

  static ImageSize Of(const Tensor& images) {
    return {images.dim(1), images.dim(2), images.dim(3)};
  }
  __device__ int64_t Index(int64_t image, int64_t y, int64_t x, int64_t channel) const {
    return ((image * height + y) * width + x) * channels + channel;
  }
};

// Where element `i` of images lies.
struct ImagePlace {
  int64_t image, y, x, channel;

  __device__ ImagePlace(const ImageSize& size, int64_t i) {
    const Quotient pixel = DivideIndex(i, size.channels);
    const Quotient row = DivideIndex(pixel.quotient, size.width);
    const Quotient of_batch = DivideIndex(row.quotient, size.height);
    image = of_batch.quotient, y = of_batch.remainder, x = row.remainder;
    channel = pixel.remainder;
  }
};

// Taps in device memory.
struct DeviceTaps {
  int span;
  const int32_t* index;
  const float* weight;

  // The sum of the taps of output `i`: see Resample.
  template <typename At>
  __device__ float Sum(int64_t i, At at) const {
    const int64_t first = i * span;
    if (span == 2) {
      const float value = at(index[first]);
      return value + (at(index[first + 1]) - value) * weight[first + 1];
    }
    float sum = 0;
    for (int t = 0; t < span; ++t) sum += weight[first + t] * at(index[first + t]);
    return sum;
  }
};

// Taps with the tensors that hold them.
struct UploadedTaps {
  Tensor index, weight;
  int span;

  static absl::StatusOr<UploadedTaps> Make(KernelContext& ctx, const ResampleTaps& taps) {
    UploadedTaps uploaded;
    uploaded.span = taps.span;
    ASSIGN_OR_RETURN(uploaded.index, Upload<int32_t>(ctx, taps.index));
    ASSIGN_OR_RETURN(uploaded.weight, Upload<float>(ctx, taps.weight));
    return uploaded;
  }
  DeviceTaps taps() const {
    return {span, DataOf<const int32_t>(index), DataOf<const float>(weight)};
  }
};

template <typename A>
__global__ void ResampleElements(int64_t count, ImageSize from, ImageSize to, DeviceTaps rows,
                                 DeviceTaps columns, Input<A> images, float* output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const ImagePlace place(to, i);
    output[i] = rows.Sum(place.y, [&](int64_t y) {
      return columns.Sum(place.x, [&](int64_t x) {
        return static_cast<float>(images[from.Index(place.image, y, x, place.channel)]);
      });
    });
  }
}

absl::Status RunResample(KernelContext& ctx, const ResampleTaps& rows, const ResampleTaps& columns,
                         const Tensor& images, Tensor* output) {
  ASSIGN_OR_RETURN(const UploadedTaps device_rows, UploadedTaps::Make(ctx, rows));
  ASSIGN_OR_RETURN(const UploadedTaps device_columns, UploadedTaps::Make(ctx, columns));
  const int64_t count = output->num_elements();
  return VisitComputeType<kReal>(images.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, ResampleElements<A>, count, ImageSize::Of(images),
                       ImageSize::Of(*output), device_rows.taps(), device_columns.taps(),
                       Input<A>(images), DataOf<float>(*output));
  });
}
REGISTER_CUDA_PRIMITIVE(Resample, RunResample);

// The outputs that each input of an axis makes, in their order.
struct Transposed {
  // The outputs of input i, and their weights, are those from begin[i] to begin[i + 1].
  std::vector<int32_t> begin, output;
  std::vector<float> weight;

  Transposed(absl::Span<const int32_t> inputs, absl::Span<const float> weights, int span,
             int64_t num_inputs)
      : begin(num_inputs + 1), output(inputs.size()), weight(inputs.size()) {
    for (const int32_t input : inputs) ++begin[input + 1];
    for (int64_t i = 0; i < num_inputs; ++i) begin[i + 1] += begin[i];
    std::vector<int32_t> next(begin.begin(), begin.end() - 1);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int32_t at = next[inputs[i]]++;
      output[at] = static_cast<int32_t>(i / span);
      weight[at] = weights.empty() ? 1 : weights[i];
    }
  }
};

struct DeviceTransposed {
  const int32_t* begin;
  const int32_t* output;
  const float* weight;

  // Calls visit(output, weight) for each output that input `i` makes.
  template <typename Visitor>
  __device__ void ForEach(int64_t i, Visitor visit) const {
    for (int32_t k = begin[i]; k < begin[i + 1]; ++k) visit(output[k], weight[k]);
  }
};

struct UploadedTransposed {
  Tensor begin, output, weight;

  static absl::StatusOr<UploadedTransposed> Make(KernelContext& ctx, const Transposed& transposed) {
    UploadedTransposed uploaded;
    ASSIGN_OR_RETURN(uploaded.begin, Upload<int32_t>(ctx, transposed.begin));
    ASSIGN_OR_RETURN(uploaded.output, Upload<int32_t>(ctx, transposed.output));
    ASSIGN_OR_RETURN(uploaded.weight, Upload<float>(ctx, transposed.weight));
    return uploaded;
  }
  DeviceTransposed device() const {
    return {DataOf<const int32_t>(begin), DataOf<const int32_t>(output),
            DataOf<const float>(weight)};
  }
};

template <typename A>
__global__ void SpreadGradients(int64_t count, ImageSize from, ImageSize to, bool is_bilinear,
                                DeviceTransposed rows, DeviceTransposed columns,
                                const float* gradients, Output<A> output) {
  using Sum = std::conditional_t<std::is_same_v<A, double>, double, float>;
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const ImagePlace place(to, i);
    Sum sum = 0;
    rows.ForEach(place.y, [&](int64_t y, float wy) {
      columns.ForEach(place.x, [&](int64_t x, float wx) {
        const float g = gradients[from.Index(place.image, y, x, place.channel)];
        sum += is_bilinear ? static_cast<Sum>(g * wy * wx) : g * (static_cast<Sum>(wy) * wx);
      });
    });
    output.Set(i, static_cast<A>(sum));
  }
}

absl::Status RunResampleGradient(KernelContext& ctx, const ResampleTaps& rows,
                                 const ResampleTaps& columns, const Tensor& gradients,
                                 Tensor* output) {
  const Transposed of_rows(rows.index, rows.weight, rows.span, output->dim(1));
  const Transposed of_columns(columns.index, columns.weight, columns.span, output->dim(2));
  ASSIGN_OR_RETURN(const auto device_rows, UploadedTransposed::Make(ctx, of_rows));
  ASSIGN_OR_RETURN(const auto device_columns, UploadedTransposed::Make(ctx, of_columns));
  const int64_t count = output->num_elements();
  return VisitComputeType<kReal>(output->dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, SpreadGradients<A>, count, ImageSize::Of(gradients),
                       ImageSize::Of(*output), rows.span == 2 && columns.span == 2,
                       device_rows.device(), device_columns.device(),
                       DataOf<const float>(gradients), Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(ResampleGradient, RunResampleGradient);

template <typename T>
__global__ void TakePixels(int64_t count, ImageSize from, ImageSize to, const int64_t* rows,
                           const int64_t* columns, const T* images, T* output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const ImagePlace place(to, i);
    output[i] = images[from.Index(place.image, rows[place.y], columns[place.x], place.channel)];
  }
}

absl::Status RunNearestPixels(KernelContext& ctx, absl::Span<const int64_t> rows,
                              absl::Span<const int64_t> columns, const Tensor& images,
                              Tensor* output) {
  ASSIGN_OR_RETURN(const Tensor device_rows, Upload(ctx, rows));
  ASSIGN_OR_RETURN(const Tensor device_columns, Upload(ctx, columns));
  const int64_t count = output->num_elements();
  return VisitBySize(ElementSize(images), [&]<typename T>() {
    return LaunchItems(ctx, count, TakePixels<T>, count, ImageSize::Of(images),
                       ImageSize::Of(*output), DataOf<const int64_t>(device_rows),
                       DataOf<const int64_t>(device_columns), DataOf<const T>(images),
                       DataOf<T>(*output));
  });
}
REGISTER_CUDA_PRIMITIVE(NearestPixels, RunNearestPixels);

template <typename A>
__global__ void AddPixels(int64_t count, ImageSize from, ImageSize to, DeviceTransposed rows,
                          DeviceTransposed columns, Input<A> gradients, Output<A> output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const ImagePlace place(to, i);
    A sum = 0;
    rows.ForEach(place.y, [&](int64_t y, float) {
      columns.ForEach(place.x, [&](int64_t x, float) {
        const A g = gradients[from.Index(place.image, y, x, place.channel)];
        sum = Rounded<A>(output.dtype, sum + g);
      });
    });
    output.Set(i, sum);
  }
}

absl::Status RunNearestPixelsGradient(KernelContext& ctx, absl::Span<const int64_t> rows,
                                      absl::Span<const int64_t> columns, const Tensor& gradients,
                                      Tensor* output) {
  const std::vector<int32_t> narrow_rows(rows.begin(), rows.end()),
      narrow_columns(columns.begin(), columns.end());
  const Transposed of_rows(narrow_rows, {}, 1, output->dim(1));
  const Transposed of_columns(narrow_columns, {}, 1, output->dim(2));
  ASSIGN_OR_RETURN(const auto device_rows, UploadedTransposed::Make(ctx, of_rows));
  ASSIGN_OR_RETURN(const auto device_columns, UploadedTransposed::Make(ctx, of_columns));
  const int64_t count = output->num_elements();
  return VisitComputeType<kReal>(output->dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, AddPixels<A>, count, ImageSize::Of(gradients),
                       ImageSize::Of(*output), device_rows.device(), device_columns.device(),
                       Input<A>(gradients), Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(NearestPixelsGradient, RunNearestPixelsGradient);

}  // namespace
}  // namespace tessera::cuda

// Windows over quantised images: QuantizedConv2D, QuantizedMaxPool, QuantizedAvgPool.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/convolution_geometry.h"
#include "runtime/kernels/quantized/quantized_input.h"
#include "runtime/kernels/quantized/quantized_range.h"
#include "runtime/kernels/quantized/quantized_type.h"
#include "runtime/kernels/window.h"

namespace tessera {
namespace {

// Inputs: images, filter, and the ranges of both. Outputs: sums of int32 and their range.
// Errors: INVALID_ARGUMENT for ranks, depths or sizes that do not fit, and unequal strides;
// UNIMPLEMENTED for dilations.
class QuantizedConv2DKernel : public OpKernel {
 public:
  explicit QuantizedConv2DKernel(const KernelBuild& build)
      : window_(ReadConvolutionWindow(build, 2, FilterKind::kGrouped)) {
    if (!build.status().ok()) return;
    if (window_.stride(0) != window_.stride(1)) {
      build.Fail(
          absl::InvalidArgumentError("only equal strides over rows and columns are supported"));
    }
    if (window_.dilation(0) != 1 || window_.dilation(1) != 1) {
      build.Fail(absl::UnimplementedError("dilations are not supported"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    const Tensor& filter = ctx.input(1);
    ASSIGN_OR_RETURN(
        const ConvolutionShape shape,
        ConvolutionGeometry(window_, FilterKind::kGrouped, images.shape(), filter.shape()));
    if (shape.groups != 1) {
      return absl::InvalidArgumentError(absl::StrCat("the filter is for ", filter.dim(2),
                                                     " channels, the input has ", images.dim(3)));
    }
    return VisitQuantizedType(images.dtype(), [&]<typename A>() {
      return VisitQuantizedType(filter.dtype(),
                                [&]<typename B>() { return Convolve<A, B>(ctx, shape); });
    });
  }

 private:
  template <typename A, typename B>
  absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape) const {
    ASSIGN_OR_RETURN(const auto image_range, ReadRange<A>(ctx, 2));
    ASSIGN_OR_RETURN(const auto filter_range, ReadRange<B>(ctx, 4));
    ASSIGN_OR_RETURN(
        Tensor* const y,
        ctx.AllocateOutput(0, window_.MakeShape(shape.batch, shape.output, shape.out_channels)));
    const A* const images = Stored<A>(ctx.input(0));
    const B* const filter = Stored<B>(ctx.input(1));
    auto* const sums = MutableStored<int32_t>(y);
    // Sums wrap, as TensorFlow's do.
    const auto image_zero = static_cast<uint32_t>(image_range.Unclamped(0));
    const auto filter_zero = static_cast<uint32_t>(filter_range.Unclamped(0));
    const int64_t rows = shape.output[0], columns = shape.output[1], out = shape.out_channels;
    const int64_t in = shape.in_channels;
    const auto row = [&](int64_t i) {
      int32_t* to = sums + i * columns * out;
      const int64_t b = i / rows, top = i % rows * shape.strides[0] - shape.pad_before[0];
      std::fill_n(to, columns * out, 0);
      for (int64_t column = 0; column < columns; ++column, to += out) {
        const int64_t left = column * shape.strides[1] - shape.pad_before[1];
        for (int64_t tap = 0; tap < shape.filter[0] * shape.filter[1]; ++tap) {
          const int64_t y_in = top + tap / shape.filter[1], x_in = left + tap % shape.filter[1];
          if (y_in < 0 || y_in >= shape.input[0] || x_in < 0 || x_in >= shape.input[1]) continue;
          const A* const pixel =
              images + ((b * shape.input[0] + y_in) * shape.input[1] + x_in) * in;
          const B* weights = filter + tap * in * out;
          for (int64_t c = 0; c < in; ++c, weights += out) {
            const uint32_t value = static_cast<uint32_t>(pixel[c]) - image_zero;
            for (int64_t o = 0; o < out; ++o) {
              to[o] =
                  static_cast<int32_t>(static_cast<uint32_t>(to[o]) +
                                       value * (static_cast<uint32_t>(weights[o]) - filter_zero));
            }
          }
        }
      }
    };
    const double cost =
        FlopsOf(shape) / static_cast<double>(std::max<int64_t>(1, shape.batch * rows));
    ctx.ParallelFor(shape.batch * rows, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) row(i);
    });
    return SetRange(ctx, 1, ProductRange(image_range, filter_range));
  }

  const WindowAttrs window_;
};
REGISTER_KERNEL("QuantizedConv2D", kCpu, QuantizedConv2DKernel)
    .TypeConstraint("Tinput", {DType::kQuint8})
    .TypeConstraint("Tfilter", {DType::kQint8, DType::kQuint8})
    .TypeConstraint("out_type", {DType::kQint32});

enum class Pool { kMax, kMean };

// Inputs: images and their range, which is that of the output too.
// Errors: INVALID_ARGUMENT unless the input has four dimensions; UNIMPLEMENTED for windows over
// batch or channels.
template <Pool kPool>
class QuantizedPoolKernel : public OpKernel {
 public:
  explicit QuantizedPoolKernel(const KernelBuild& build)
      : window_(build, 2), sizes_(build.attr<std::vector<int64_t>>("ksize")) {
    if (sizes_.size() != 4 ||
        std::any_of(sizes_.begin(), sizes_.end(), [](auto k) { return k < 1; })) {
      build.Fail(absl::InvalidArgumentError("ksize must be four positive numbers"));
    } else if (build.status().ok() && (sizes_[0] != 1 || sizes_[3] != 1 ||
                                       window_.strides()[0] != 1 || window_.strides()[3] != 1)) {
      build.Fail(absl::UnimplementedError("pooling over batch or channels is not supported"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.rank() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be 4-dimensional, has shape ", x.shape().ToString()));
    }
    return VisitQuantizedType(x.dtype(), [&]<typename T>() { return PoolAll<T>(ctx); });
  }

 private:
  template <typename T>
  absl::Status PoolAll(KernelContext& ctx) const {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const auto range, ReadRange<T>(ctx, 1));
    ASSIGN_OR_RETURN(const WindowExtent rows, window_.Extent(0, x.dim(1), sizes_[1]));
    ASSIGN_OR_RETURN(const WindowExtent columns, window_.Extent(1, x.dim(2), sizes_[2]));
    const int64_t channels = x.dim(3);
    ASSIGN_OR_RETURN(Tensor* const y,
                     ctx.AllocateOutput(0, Shape{x.dim(0), rows.output, columns.output, channels}));
    T* to = MutableStored<T>(y);
    for (int64_t i = 0; i < y->num_elements(); ++i) {
      const int64_t c = i % channels, column = i / channels % columns.output;
      const int64_t row = i / channels / columns.output % rows.output;
      const int64_t b = i / channels / columns.output / rows.output;
      const int64_t top = row * window_.stride(0) - rows.pad_before;
      const int64_t left = column * window_.stride(1) - columns.pad_before;
      int32_t largest = std::numeric_limits<T>::lowest(), sum = 0, count = 0;
      for (int64_t v = std::max<int64_t>(0, top); v < std::min(x.dim(1), top + sizes_[1]); ++v) {
        for (int64_t u = std::max<int64_t>(0, left); u < std::min(x.dim(2), left + sizes_[2]);
             ++u) {
          const int32_t q = Stored<T>(x)[((b * x.dim(1) + v) * x.dim(2) + u) * channels + c];
          largest = std::max(largest, q);
          sum += q;
          ++count;
        }
      }
      // The mean is cut off towards 0, as TensorFlow's is.
      to[i] = static_cast<T>(kPool == Pool::kMax ? largest : sum / std::max(count, 1));
    }
    return SetRange(ctx, 1, range);
  }

  const WindowAttrs window_;
  const std::vector<int64_t> sizes_;
};
REGISTER_KERNEL("QuantizedMaxPool", kCpu, QuantizedPoolKernel<Pool::kMax>)
    .TypeConstraint("T", {DType::kQint8, DType::kQuint8});
REGISTER_KERNEL("QuantizedAvgPool", kCpu, QuantizedPoolKernel<Pool::kMean>)
    .TypeConstraint("T", {DType::kQint8, DType::kQuint8});

}  // namespace
}  // namespace tessera

// Max and average pooling over two or three spatial dimensions.
#include <limits>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/pool_window.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// best[c] = max(best[c], values[c]), the steps from one channel to the next being known where
// channels are last: that loop vectorises.
template <typename T>
void TakeGreater(int64_t channels, const T* values, int64_t step, T* best, int64_t best_step) {
  if (step == 1 && best_step == 1) {
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) best[c] = best[c] < values[c] ? values[c] : best[c];
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    const T value = values[c * step];
    T& greatest = best[c * best_step];
    greatest = greatest < value ? value : greatest;
  }
}

template <typename T>
void MaxPool(KernelContext& ctx, const PoolShape& s, const T* in, T* out) {
  const int64_t in_channel = s.channel_step(s.input_points());
  const int64_t out_channel = s.channel_step(s.output_points());
  ForOutputPoints(ctx, s, [&](int64_t image, int64_t point, const int64_t(&at)[3]) {
    const T* from = in + image * s.input_points() * s.channels;
    T* to = out + image * s.output_points() * s.channels + point * s.point_step();
    for (int64_t c = 0; c < s.channels; ++c) {
      to[c * out_channel] = std::numeric_limits<T>::lowest();
    }
    ForWindow(s, at, [&](int64_t source) {
      TakeGreater(s.channels, from + source * s.point_step(), in_channel, to, out_channel);
    });
  });
}

// Means leave padding out of the count.
template <typename T>
void AvgPool(KernelContext& ctx, const PoolShape& s, const T* in, T* out) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int64_t in_channel = s.channel_step(s.input_points());
  const int64_t out_channel = s.channel_step(s.output_points());
  ForOutputPoints(ctx, s, [&](int64_t image, int64_t point, const int64_t(&at)[3]) {
    const T* from = in + image * s.input_points() * s.channels;
    T* to = out + image * s.output_points() * s.channels + point * s.point_step();
    absl::InlinedVector<Sum, 256> sums(s.channels, Sum(0));
    int64_t count = 0;
    ForWindow(s, at, [&](int64_t source) {
      const T* values = from + source * s.point_step();
      for (int64_t c = 0; c < s.channels; ++c) sums[c] += static_cast<Sum>(values[c * in_channel]);
      ++count;
    });
    for (int64_t c = 0; c < s.channels; ++c) {
      to[c * out_channel] = static_cast<T>(sums[c] / static_cast<Sum>(count));
    }
  });
}

// Max pooling over channels: TensorFlow has it for windows that part all channels and reach over
// one point only. Strides over points do not count then.
absl::Status MaxPoolChannels(KernelContext& ctx, const WindowAttrs& attrs,
                             const std::vector<int64_t>& ksize) {
  const Tensor& input = ctx.input(0);
  if (input.rank() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("pooling needs an input of rank 4, has shape ", input.shape().ToString()));
  }
  const int64_t window = ksize[attrs.channel_dim()], channels = input.dim(attrs.channel_dim());
  const char* const refusal = ksize[attrs.spatial_dim(0)] > 1 || ksize[attrs.spatial_dim(1)] > 1
                                  ? "it reaches over points, too"
                              : window != attrs.strides()[attrs.channel_dim()]
                                  ? "it does not move by its own size"
                              : channels % window != 0 ? "it does not part them evenly"
                              : attrs.padding() == Padding::kExplicit ? "there is explicit padding"
                              : attrs.channels_first()                ? "they come first"
                                                                      : nullptr;
  if (refusal != nullptr) {
    return absl::UnimplementedError(absl::StrCat("a window of ", window, " over ", channels,
                                                 " channels is not supported: ", refusal));
  }
  Shape shape = input.shape();
  shape.SetDim(3, channels / window);
  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
  return VisitRealType(input.dtype(), [&]<typename T>() {
    const T* const in = input.data<T>();
    T* const out = output->data<T>();
    ctx.ParallelFor(output->num_elements(), static_cast<double>(window),
                    [&](int64_t i, int64_t end) {
                      for (; i < end; ++i) {
                        // The first value counts even if it is NaN, a later one then does not.
                        T greatest = in[i * window];
                        for (int64_t c = 1; c < window; ++c) {
                          const T value = in[i * window + c];
                          greatest = greatest < value ? value : greatest;
                        }
                        out[i] = greatest;
                      }
                    });
    return absl::OkStatus();
  });
}

enum class Pool { kMax, kAverage };

absl::Status RunPool(KernelContext& ctx, Pool pool, const WindowAttrs& attrs,
                     const std::vector<int64_t>& ksize) {
  const Tensor& input = ctx.input(0);
  if (ksize[attrs.channel_dim()] != 1) return MaxPoolChannels(ctx, attrs, ksize);
  ASSIGN_OR_RETURN(const PoolShape shape, PoolGeometry(attrs, ksize, input.shape()));
  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, PoolOutputShape(attrs, shape)));
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(input.dtype(), [&]<typename T>() {
    if (pool == Pool::kMax) {
      MaxPool(ctx, shape, input.data<T>(), output->data<T>());
    } else {
      AvgPool(ctx, shape, input.data<T>(), output->data<T>());
    }
    return absl::OkStatus();
  });
}

template <Pool kPool, int kSpatialRank>
class PoolKernel : public OpKernel {
 public:
  explicit PoolKernel(const KernelBuild& build)
      : attrs_(build, kSpatialRank),
        ksize_(ReadPoolWindow(build, attrs_,
                              kPool == Pool::kMax && kSpatialRank == 2 ? ChannelWindow::kAllowed
                                                                       : ChannelWindow::kRefused)) {
  }
  absl::Status Compute(KernelContext& ctx) override { return RunPool(ctx, kPool, attrs_, ksize_); }

 private:
  const WindowAttrs attrs_;
  const std::vector<int64_t> ksize_;
};
using MaxPool2D = PoolKernel<Pool::kMax, 2>;
using MaxPool3D = PoolKernel<Pool::kMax, 3>;
using AvgPool2D = PoolKernel<Pool::kAverage, 2>;
using AvgPool3D = PoolKernel<Pool::kAverage, 3>;
REGISTER_KERNEL("MaxPool", kCpu, MaxPool2D);
REGISTER_KERNEL("MaxPool3D", kCpu, MaxPool3D);
REGISTER_KERNEL("AvgPool", kCpu, AvgPool2D);
REGISTER_KERNEL("AvgPool3D", kCpu, AvgPool3D);

// Max pooling whose window and strides are inputs.
class MaxPoolV2Kernel : public OpKernel {
 public:
  explicit MaxPoolV2Kernel(const KernelBuild& build) : op_(build.op()), attrs_(build.attrs()) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(
        const PoolWindow window,
        PoolWindow::FromInputs(op_, attrs_, ctx.input(1), ctx.input(2), ChannelWindow::kAllowed));
    return RunPool(ctx, Pool::kMax, window.attrs, window.ksize);
  }

 private:
  const OpDef& op_;
  const AttrMap attrs_;
};
REGISTER_KERNEL("MaxPoolV2", kCpu, MaxPoolV2Kernel).HostMemory("ksize").HostMemory("strides");

// Max pooling that also says where each maximum was, as an index into the flattened input, of the
// whole batch or of one image.
class MaxPoolWithArgmaxKernel : public OpKernel {
 public:
  explicit MaxPoolWithArgmaxKernel(const KernelBuild& build)
      : attrs_(build, 2),
        ksize_(ReadPoolWindow(build, attrs_)),
        include_batch_(build.attr<bool>("include_batch_in_index")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const PoolShape shape, PoolGeometry(attrs_, ksize_, input.shape()));
    const Shape out_shape{shape.batch, shape.output[1], shape.output[2], shape.channels};
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, out_shape));
    ASSIGN_OR_RETURN(Tensor* const argmax, ctx.AllocateOutput(1, out_shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    return VisitRealType(input.dtype(), [&]<typename T>() {
      return VisitRealType(argmax->dtype(), [&]<typename Index>() {
        if constexpr (std::is_integral_v<Index> && sizeof(Index) >= 4) {
          Run(ctx, shape, input.data<T>(), output->data<T>(), argmax->data<Index>());
        }
        return absl::OkStatus();
      });
    });
  }

 private:
  template <typename T, typename Index>
  void Run(KernelContext& ctx, const PoolShape& s, const T* in, T* out, Index* argmax) const {
    ForOutputPoints(ctx, s, [&](int64_t image, int64_t point, const int64_t(&at)[3]) {
      const int64_t image_start = image * s.input_points() * s.channels;
      const int64_t to = (image * s.output_points() + point) * s.channels;
      for (int64_t c = 0; c < s.channels; ++c) {
        int64_t best = -1;
        ForWindow(s, at, [&](int64_t source) {
          const int64_t index = source * s.channels + c;
          if (best < 0 || in[image_start + best] < in[image_start + index]) best = index;
        });
        out[to + c] = in[image_start + best];
        argmax[to + c] = static_cast<Index>(best + (include_batch_ ? image_start : 0));
      }
    });
  }

  const WindowAttrs attrs_;
  const std::vector<int64_t> ksize_;
  const bool include_batch_;
};
REGISTER_KERNEL("MaxPoolWithArgmax", kCpu, MaxPoolWithArgmaxKernel);

}  // namespace
}  // namespace tessera

// Max and average pooling over two or three spatial dimensions.
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/numeric_type.h"
#include "runtime/kernels/window.h"

namespace tessera {
namespace {

// The geometry of one run: windows over spatial dimensions, padded to three with sizes of 1.
struct PoolShape {
  int64_t batch = 0, channels = 0;
  int64_t input[3] = {1, 1, 1}, window[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  int64_t output[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
  bool channels_first = false;

  int64_t input_points() const { return input[0] * input[1] * input[2]; }
  int64_t output_points() const { return output[0] * output[1] * output[2]; }
  // Steps in memory from one spatial point to the next, and from one channel to the next.
  int64_t point_step() const { return channels_first ? 1 : channels; }
  int64_t channel_step(int64_t points) const { return channels_first ? points : 1; }
};

absl::StatusOr<PoolShape> Geometry(const WindowAttrs& attrs, const std::vector<int64_t>& ksize,
                                   const Tensor& input) {
  const int rank = attrs.spatial_rank();
  if (input.rank() != rank + 2) {
    return absl::InvalidArgumentError(absl::StrCat("pooling needs an input of rank ", rank + 2,
                                                   ", has shape ", input.shape().ToString()));
  }
  PoolShape shape;
  shape.channels_first = attrs.channels_first();
  shape.batch = input.dim(0);
  shape.channels = input.dim(attrs.channel_dim());
  for (int i = 0; i < rank; ++i) {
    const int at = 3 - rank + i;
    shape.input[at] = input.dim(attrs.spatial_dim(i));
    shape.window[at] = ksize[attrs.spatial_dim(i)];
    shape.stride[at] = attrs.stride(i);
    ASSIGN_OR_RETURN(const WindowExtent extent,
                     attrs.Extent(i, shape.input[at], shape.window[at]));
    shape.output[at] = extent.output;
    shape.pad[at] = extent.pad_before;
  }
  return shape;
}

std::vector<int64_t> ReadWindow(const KernelBuild& build, const WindowAttrs& attrs) {
  auto ksize = build.attr<std::vector<int64_t>>("ksize");
  if (!build.status().ok()) return ksize;
  if (ksize.size() != static_cast<size_t>(attrs.spatial_rank() + 2)) {
    build.Fail(absl::InvalidArgumentError(
        absl::StrCat("ksize must have ", attrs.spatial_rank() + 2, " numbers")));
    return ksize;
  }
  for (int64_t k : ksize) {
    if (k < 1) build.Fail(absl::InvalidArgumentError(absl::StrCat("ksize must be positive: ", k)));
  }
  if (ksize[0] != 1 || ksize[attrs.channel_dim()] != 1 || attrs.strides()[attrs.channel_dim()] != 1) {
    build.Fail(absl::UnimplementedError(
        "pooling over batch or channels is not supported: ksize and strides there must be 1"));
  }
  return ksize;
}

// Calls visit(input offset) for each input point that lies in the window of an output point.
template <typename Visit>
void ForWindow(const PoolShape& s, const int64_t (&at)[3], Visit&& visit) {
  int64_t begin[3], end[3];
  for (int d = 0; d < 3; ++d) {
    const int64_t first = at[d] * s.stride[d] - s.pad[d];
    begin[d] = std::max<int64_t>(first, 0);
    end[d] = std::min(first + s.window[d], s.input[d]);
  }
  for (int64_t z = begin[0]; z < end[0]; ++z) {
    for (int64_t y = begin[1]; y < end[1]; ++y) {
      for (int64_t x = begin[2]; x < end[2]; ++x) {
        visit((z * s.input[1] + y) * s.input[2] + x);
      }
    }
  }
}

// Calls body(batch, point, position) for all output points, in parallel.
template <typename Body>
void ForOutputPoints(KernelContext& ctx, const PoolShape& s, Body&& body) {
  const int64_t points = s.output_points();
  const double cost = 0.5 * s.channels * s.window[0] * s.window[1] * s.window[2];
  ctx.ParallelFor(s.batch * points, cost, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t point = item % points;
      const int64_t at[3] = {point / (s.output[1] * s.output[2]),
                             point / s.output[2] % s.output[1], point % s.output[2]};
      body(item / points, point, at);
    }
  });
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
      const T* values = from + source * s.point_step();
      for (int64_t c = 0; c < s.channels; ++c) {
        const T value = values[c * in_channel];
        T& best = to[c * out_channel];
        best = best < value ? value : best;
      }
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

enum class Pool { kMax, kAverage };

absl::Status RunPool(KernelContext& ctx, Pool pool, const WindowAttrs& attrs,
                     const std::vector<int64_t>& ksize) {
  const Tensor& input = ctx.input(0);
  ASSIGN_OR_RETURN(const PoolShape shape, Geometry(attrs, ksize, input));
  const int rank = attrs.spatial_rank();
  ASSIGN_OR_RETURN(
      Tensor* const output,
      ctx.AllocateOutput(0, attrs.MakeShape(shape.batch,
                                            absl::MakeConstSpan(shape.output).subspan(3 - rank),
                                            shape.channels)));
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
      : attrs_(build, kSpatialRank), ksize_(ReadWindow(build, attrs_)) {}
  absl::Status Compute(KernelContext& ctx) override {
    return RunPool(ctx, kPool, attrs_, ksize_);
  }

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

// Max pooling that also says where each maximum was, as an index into the flattened input, of the
// whole batch or of one image.
class MaxPoolWithArgmaxKernel : public OpKernel {
 public:
  explicit MaxPoolWithArgmaxKernel(const KernelBuild& build)
      : attrs_(build, 2),
        ksize_(ReadWindow(build, attrs_)),
        include_batch_(build.attr<bool>("include_batch_in_index")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const PoolShape shape, Geometry(attrs_, ksize_, input));
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

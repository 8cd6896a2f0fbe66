// Gradients of max and average pooling, and the gradients of those of max pooling.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/nn/pool_window.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// In which to add up elements of T.
template <typename T>
using SumOf =
    std::conditional_t<std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>, float,
                       T>;

// Errors: INVALID_ARGUMENT unless the shapes are the same.
absl::Status CheckShape(const Tensor& tensor, const Shape& wanted, absl::string_view name) {
  if (tensor.shape() == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' must have shape ", wanted.ToString(),
                                                 ", has ", tensor.shape().ToString()));
}

// Calls visit(input element, output element) for each output element, with the first input element
// that is the maximum of its window, or, if all equal ones count, with each that is.
template <bool kAllEqual, typename T, typename Visit>
void ForMaxima(const PoolShape& s, const T* in, Visit visit) {
  const int64_t in_channel = s.channel_step(s.input_points());
  const int64_t out_channel = s.channel_step(s.output_points());
  for (int64_t image = 0; image < s.batch; ++image) {
    const int64_t in_start = image * s.input_points() * s.channels;
    const int64_t out_start = image * s.output_points() * s.channels;
    for (int64_t point = 0; point < s.output_points(); ++point) {
      const int64_t at[3] = {point / (s.output[1] * s.output[2]), point / s.output[2] % s.output[1],
                             point % s.output[2]};
      for (int64_t c = 0; c < s.channels; ++c) {
        int64_t best = -1;
        ForWindow(s, at, [&](int64_t source) {
          const int64_t index = in_start + source * s.point_step() + c * in_channel;
          if (best < 0 || in[best] < in[index]) best = index;
        });
        if (best < 0) continue;
        const int64_t pooled = out_start + point * s.point_step() + c * out_channel;
        if (!kAllEqual) {
          visit(best, pooled);
          continue;
        }
        ForWindow(s, at, [&](int64_t source) {
          const int64_t index = in_start + source * s.point_step() + c * in_channel;
          if (in[index] == in[best]) visit(index, pooled);
        });
      }
    }
  }
}

enum class Order { kFirst, kSecond };

// Inputs: what was pooled, the pool's output, gradients: of the pool's output for the first order,
// of its gradient for the second. Version 2 has window and strides as inputs after them.
// Errors: INVALID_ARGUMENT for shapes that do not belong together.
template <Order kOrder, int kSpatialRank>
class MaxPoolGradKernel : public OpKernel {
 public:
  explicit MaxPoolGradKernel(const KernelBuild& build)
      : op_(build.op()), node_attrs_(build.attrs()), from_inputs_(build.num_inputs() == 5) {
    if (from_inputs_) return;
    window_.emplace(PoolWindow{WindowAttrs(build, kSpatialRank), {}});
    window_->ksize = ReadPoolWindow(build, window_->attrs);
  }

  absl::Status Compute(KernelContext& ctx) override {
    if (!from_inputs_) return Run(ctx, *window_);
    ASSIGN_OR_RETURN(const PoolWindow window,
                     PoolWindow::FromInputs(op_, node_attrs_, ctx.input(3), ctx.input(4)));
    return Run(ctx, window);
  }

 private:
  absl::Status Run(KernelContext& ctx, const PoolWindow& window) const {
    const Tensor& input = ctx.input(0);
    const Tensor& gradients = ctx.input(2);
    ASSIGN_OR_RETURN(const PoolShape shape,
                     PoolGeometry(window.attrs, window.ksize, input.shape()));
    const Shape pooled = PoolOutputShape(window.attrs, shape);
    RETURN_IF_ERROR(CheckShape(ctx.input(1), pooled, "orig_output"));
    const bool first = kOrder == Order::kFirst;
    RETURN_IF_ERROR(CheckShape(gradients, first ? pooled : input.shape(), "grad"));
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, first ? input.shape() : pooled));
    if (out->num_elements() == 0) return absl::OkStatus();
    return VisitRealType(input.dtype(), [&]<typename T>() {
      const T* const from = gradients.data<T>();
      std::vector<SumOf<T>> sums(out->num_elements());
      // TensorFlow's gradient of volumes goes to all maxima, that of images to the first.
      constexpr bool kAllEqual = kOrder == Order::kFirst && kSpatialRank == 3;
      ForMaxima<kAllEqual>(shape, input.data<T>(), [&](int64_t in, int64_t pooled_at) {
        if (first) {
          sums[in] += static_cast<SumOf<T>>(from[pooled_at]);
        } else {
          sums[pooled_at] = static_cast<SumOf<T>>(from[in]);
        }
      });
      for (size_t i = 0; i < sums.size(); ++i) out->data<T>()[i] = static_cast<T>(sums[i]);
      return absl::OkStatus();
    });
  }

  const OpDef& op_;
  const AttrMap node_attrs_;
  const bool from_inputs_;
  absl::optional<PoolWindow> window_;
};
using MaxPoolGrad2D = MaxPoolGradKernel<Order::kFirst, 2>;
using MaxPoolGrad3D = MaxPoolGradKernel<Order::kFirst, 3>;
using MaxPoolGradGrad2D = MaxPoolGradKernel<Order::kSecond, 2>;
using MaxPoolGradGrad3D = MaxPoolGradKernel<Order::kSecond, 3>;
REGISTER_KERNEL("MaxPoolGrad", kCpu, MaxPoolGrad2D);
REGISTER_KERNEL("MaxPoolGradV2", kCpu, MaxPoolGrad2D).HostMemory("ksize").HostMemory("strides");
REGISTER_KERNEL("MaxPool3DGrad", kCpu, MaxPoolGrad3D);
REGISTER_KERNEL("MaxPoolGradGrad", kCpu, MaxPoolGradGrad2D);
REGISTER_KERNEL("MaxPoolGradGradV2", kCpu, MaxPoolGradGrad2D)
    .HostMemory("ksize")
    .HostMemory("strides");
REGISTER_KERNEL("MaxPool3DGradGrad", kCpu, MaxPoolGradGrad3D);

// Inputs: what was pooled, gradients of the pool's output, and where its maxima were.
// Errors: INVALID_ARGUMENT for other shapes, or a place outside the input.
class MaxPoolGradWithArgmaxKernel : public OpKernel {
 public:
  explicit MaxPoolGradWithArgmaxKernel(const KernelBuild& build)
      : attrs_(build, 2),
        ksize_(ReadPoolWindow(build, attrs_)),
        include_batch_(build.attr<bool>("include_batch_in_index")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& gradients = ctx.input(1);
    ASSIGN_OR_RETURN(const PoolShape shape, PoolGeometry(attrs_, ksize_, input.shape()));
    const Shape pooled = PoolOutputShape(attrs_, shape);
    RETURN_IF_ERROR(CheckShape(gradients, pooled, "grad"));
    RETURN_IF_ERROR(CheckShape(ctx.input(2), pooled, "argmax"));
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, input.shape()));
    const int64_t image_size = shape.input_points() * shape.channels;
    const int64_t pooled_size = shape.output_points() * shape.channels;
    return VisitRealType(input.dtype(), [&]<typename T>() -> absl::Status {
      std::vector<SumOf<T>> sums(out->num_elements());
      for (int64_t i = 0; i < gradients.num_elements(); ++i) {
        int64_t place = 0;
        VisitIndexType(ctx.input(2).dtype(),
                       [&]<typename I>() { place = ctx.input(2).data<I>()[i]; });
        if (!include_batch_) place += i / pooled_size * image_size;
        if (place < 0 || place >= out->num_elements()) {
          return absl::InvalidArgumentError(
              absl::StrCat("argmax names element ", place, " of ", out->num_elements()));
        }
        sums[place] += static_cast<SumOf<T>>(gradients.data<T>()[i]);
      }
      for (size_t i = 0; i < sums.size(); ++i) out->data<T>()[i] = static_cast<T>(sums[i]);
      return absl::OkStatus();
    });
  }

 private:
  const WindowAttrs attrs_;
  const std::vector<int64_t> ksize_;
  const bool include_batch_;
};
REGISTER_KERNEL("MaxPoolGradWithArgmax", kCpu, MaxPoolGradWithArgmaxKernel);

// Inputs: the shape of what was pooled, gradients of the pool's output.
// Errors: INVALID_ARGUMENT for shapes that do not belong together.
template <int kSpatialRank>
class AvgPoolGradKernel : public OpKernel {
 public:
  explicit AvgPoolGradKernel(const KernelBuild& build)
      : attrs_(build, kSpatialRank), ksize_(ReadPoolWindow(build, attrs_)) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape input, ReadShape(ctx.input(0), "orig_input_shape"));
    const Tensor& gradients = ctx.input(1);
    ASSIGN_OR_RETURN(const PoolShape s, PoolGeometry(attrs_, ksize_, input));
    RETURN_IF_ERROR(CheckShape(gradients, PoolOutputShape(attrs_, s), "grad"));
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, input));
    const int64_t in_channel = s.channel_step(s.input_points());
    const int64_t out_channel = s.channel_step(s.output_points());
    return VisitRealType(out->dtype(), [&]<typename T>() {
      std::vector<SumOf<T>> sums(out->num_elements());
      for (int64_t i = 0; i < s.batch * s.output_points(); ++i) {
        const int64_t image = i / s.output_points(), point = i % s.output_points();
        const int64_t at[3] = {point / (s.output[1] * s.output[2]),
                               point / s.output[2] % s.output[1], point % s.output[2]};
        int64_t count = 0;
        ForWindow(s, at, [&](int64_t) { ++count; });
        const T* const from =
            gradients.data<T>() + image * s.output_points() * s.channels + point * s.point_step();
        SumOf<T>* const to = sums.data() + image * s.input_points() * s.channels;
        ForWindow(s, at, [&](int64_t source) {
          for (int64_t c = 0; c < s.channels; ++c) {
            to[source * s.point_step() + c * in_channel] +=
                static_cast<SumOf<T>>(from[c * out_channel]) / static_cast<SumOf<T>>(count);
          }
        });
      }
      for (size_t i = 0; i < sums.size(); ++i) out->data<T>()[i] = static_cast<T>(sums[i]);
      return absl::OkStatus();
    });
  }

 private:
  const WindowAttrs attrs_;
  const std::vector<int64_t> ksize_;
};
REGISTER_KERNEL("AvgPoolGrad", kCpu, AvgPoolGradKernel<2>).HostMemory("orig_input_shape");
REGISTER_KERNEL("AvgPool3DGrad", kCpu, AvgPoolGradKernel<3>).HostMemory("orig_input_shape");

}  // namespace
}  // namespace tessera

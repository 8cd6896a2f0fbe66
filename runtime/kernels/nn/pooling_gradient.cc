// Gradients of max and average pooling, and the gradients of those of max pooling.
#include <optional>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/nn/pool_window.h"
#include "runtime/kernels/primitives/pooling.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT unless the shapes are the same.
absl::Status CheckShape(const Tensor& tensor, const Shape& wanted, absl::string_view name) {
  if (tensor.shape() == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' must have shape ", wanted.ToString(),
                                                 ", has ", tensor.shape().ToString()));
}

// Inputs: what was pooled, the pool's output, gradients: of the pool's output for the gradient, of
// its gradient for the second one. Version 2 has window and strides as inputs after them, and looks
// at the ranks of the others first. Errors: INVALID_ARGUMENT for shapes that do not belong
// together.
template <typename Gradient, int kSpatialRank>
class MaxPoolGradKernel : public OpKernel {
 public:
  explicit MaxPoolGradKernel(const KernelBuild& build)
      : op_(build.op()),
        node_attrs_(build.attrs()),
        from_inputs_(build.num_inputs() == 5),
        gradient_(build) {
    if (build.input_types()[0] != build.output_types()[0]) {
      build.Fail(absl::InvalidArgumentError("the input and its gradient must be of one type"));
    }
    if (from_inputs_) return;
    window_.emplace(PoolWindow::FromAttrs(build, kSpatialRank, ChannelWindow::kRefused));
  }

  absl::Status Compute(KernelContext& ctx) override {
    if (!from_inputs_) return Run(ctx, *window_);
    for (int i = 0; i < 3; ++i) {
      if (ctx.input(i).rank() == kSpatialRank + 2) continue;
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " must have rank ",
                                                     kSpatialRank + 2, ", has shape ",
                                                     ctx.input(i).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const PoolWindow window,
                     PoolWindow::FromInputs(op_, node_attrs_, ctx.input(3), ctx.input(4),
                                            ChannelWindow::kRefused));
    return Run(ctx, window);
  }

 private:
  absl::Status Run(KernelContext& ctx, const PoolWindow& window) const {
    const Tensor& input = ctx.input(0);
    const Tensor& gradients = ctx.input(2);
    ASSIGN_OR_RETURN(const PoolShape shape, window.Geometry(input.shape()));
    const Shape pooled = window.OutputShape(shape);
    RETURN_IF_ERROR(CheckShape(ctx.input(1), pooled, "orig_output"));
    constexpr bool kIsSecond = std::is_same_v<Gradient, MaxPoolSecondGradient>;
    RETURN_IF_ERROR(CheckShape(gradients, kIsSecond ? input.shape() : pooled, "grad"));
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, kIsSecond ? pooled : input.shape()));
    if constexpr (kIsSecond) {
      return gradient_(ctx, shape, input, gradients, out);
    } else {
      // TensorFlow's gradient of volumes goes to all elements near the maximum, that of images to
      // the first maximum.
      constexpr EqualMaxima kEqual = kSpatialRank == 3 ? EqualMaxima::kAll : EqualMaxima::kFirst;
      return gradient_(ctx, shape, kEqual, input, gradients, out);
    }
  }

  const OpDef& op_;
  const AttrMap node_attrs_;
  const bool from_inputs_;
  std::optional<PoolWindow> window_;
  const Primitive<Gradient> gradient_;
};
using MaxPoolGrad2D = MaxPoolGradKernel<MaxPoolGradient, 2>;
using MaxPoolGrad3D = MaxPoolGradKernel<MaxPoolGradient, 3>;
using MaxPoolGradGrad2D = MaxPoolGradKernel<MaxPoolSecondGradient, 2>;
using MaxPoolGradGrad3D = MaxPoolGradKernel<MaxPoolSecondGradient, 3>;
REGISTER_KERNEL("MaxPoolGrad", DevicesOf<MaxPoolGradient>, MaxPoolGrad2D);
REGISTER_KERNEL("MaxPoolGradV2", DevicesOf<MaxPoolGradient>, MaxPoolGrad2D)
    .HostMemory("ksize")
    .HostMemory("strides");
REGISTER_KERNEL("MaxPool3DGrad", DevicesOf<MaxPoolGradient>, MaxPoolGrad3D);
REGISTER_KERNEL("MaxPoolGradGrad", DevicesOf<MaxPoolSecondGradient>, MaxPoolGradGrad2D);
REGISTER_KERNEL("MaxPoolGradGradV2", DevicesOf<MaxPoolSecondGradient>, MaxPoolGradGrad2D)
    .HostMemory("ksize")
    .HostMemory("strides");
REGISTER_KERNEL("MaxPool3DGradGrad", DevicesOf<MaxPoolSecondGradient>, MaxPoolGradGrad3D);

// Inputs: what was pooled, gradients of the pool's output, and where its maxima were. If the window
// reaches over channels, gradients and places are those of MaxPool over channels.
// Errors: INVALID_ARGUMENT for other shapes, or a place outside the input.
class MaxPoolGradWithArgmaxKernel : public OpKernel {
 public:
  explicit MaxPoolGradWithArgmaxKernel(const KernelBuild& build)
      : window_(PoolWindow::FromAttrs(build, 2, ChannelWindow::kRefusedLate)),
        scope_(build.attr<bool>("include_batch_in_index") ? ArgmaxScope::kBatch
                                                          : ArgmaxScope::kImage),
        gradient_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& gradients = ctx.input(1);
    PoolShape shape;
    Shape pooled;
    if (window_.reaches_over_channels()) {
      RETURN_IF_ERROR(CheckChannelWindow(window_, input.shape()));
      pooled = input.shape();
      pooled.SetDim(3, pooled.dim(3) / window_.ksize[3]);
      shape = OfChannels(input.shape(), pooled);
    } else {
      ASSIGN_OR_RETURN(shape, window_.Geometry(input.shape()));
      pooled = window_.OutputShape(shape);
    }
    RETURN_IF_ERROR(CheckShape(gradients, pooled, "grad"));
    RETURN_IF_ERROR(CheckShape(ctx.input(2), pooled, "argmax"));
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, input.shape()));
    return gradient_(ctx, shape, scope_, ctx.input(2), gradients, out);
  }

 private:
  // The geometry of pooling over channels, as one over the last of the spatial dimensions: images
  // of one channel, whose rows hold the elements of all channels.
  static PoolShape OfChannels(const Shape& input, const Shape& pooled) {
    PoolShape shape;
    shape.batch = input.dim(0);
    shape.channels = 1;
    shape.input[1] = shape.output[1] = input.dim(1);
    shape.input[2] = input.dim(2) * input.dim(3);
    shape.output[2] = pooled.dim(2) * pooled.dim(3);
    return shape;
  }

  const PoolWindow window_;
  const ArgmaxScope scope_;
  const Primitive<ArgmaxPoolGradient> gradient_;
};
REGISTER_KERNEL("MaxPoolGradWithArgmax", DevicesOf<ArgmaxPoolGradient>,
                MaxPoolGradWithArgmaxKernel);

// Inputs: the shape of what was pooled, gradients of the pool's output.
// Errors: INVALID_ARGUMENT for shapes that do not belong together.
template <int kSpatialRank>
class AvgPoolGradKernel : public OpKernel {
 public:
  explicit AvgPoolGradKernel(const KernelBuild& build)
      : window_(PoolWindow::FromAttrs(
            build, kSpatialRank,
            kSpatialRank == 2 ? ChannelWindow::kRefusedLate : ChannelWindow::kRefused)),
        gradient_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape input, ReadShape(ctx.input(0), "orig_input_shape"));
    const Tensor& gradients = ctx.input(1);
    ASSIGN_OR_RETURN(const PoolShape s, window_.Geometry(input));
    RETURN_IF_ERROR(CheckShape(gradients, window_.OutputShape(s), "grad"));
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, input));
    return gradient_(ctx, s, gradients, out);
  }

 private:
  const PoolWindow window_;
  const Primitive<AveragePoolGradient> gradient_;
};
REGISTER_KERNEL("AvgPoolGrad", DevicesOf<AveragePoolGradient>, AvgPoolGradKernel<2>)
    .HostMemory("orig_input_shape");
REGISTER_KERNEL("AvgPool3DGrad", DevicesOf<AveragePoolGradient>, AvgPoolGradKernel<3>)
    .HostMemory("orig_input_shape");

}  // namespace
}  // namespace tessera

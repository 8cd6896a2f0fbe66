// Conv2D, Conv3D, DepthwiseConv2dNative and their fused forms.
#include "runtime/kernels/primitives/convolution.h"

#include <memory>
#include <string>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/fused_ops.h"
#include "runtime/kernels/nn/convolution_geometry.h"
#include "runtime/kernels/primitives/channel_norm.h"

namespace tessera {
namespace {

// The inputs are the images and the filter; fused forms then take `args` and the scale of the
// filter. `args` are the bias and the tensor to add, or scale, offset, mean and variance of a batch
// norm. Errors: INVALID_ARGUMENT for ranks, depths or sizes that do not fit.
template <int kSpatialRank, FilterKind kFilter>
class ConvolutionKernel : public OpKernel {
 public:
  explicit ConvolutionKernel(const KernelBuild& build)
      : ConvolutionKernel(build, FusedOpNames(build)) {}

  absl::Status Prepare(const PrepareContext& context) override {
    if (scale_input_ >= 0) return absl::OkStatus();
    return convolution_->Prepare(context, /*out_dims=*/kIsGrouped ? 1 : 2);
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor* const scale = scale_input_ < 0 ? nullptr : &ctx.input(scale_input_);
    const ScaledWeights filter(ctx.input(1), scale);
    // Unlike for two dimensions, TensorFlow refuses filters for no output channels.
    if (kSpatialRank == 3 && filter.values.num_elements() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the filter is empty: shape ", filter.values.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const ConvolutionShape shape,
                     ConvolutionGeometry(window_, kFilter, input.shape(), filter.values.shape()));
    RETURN_IF_ERROR(CheckChannels("filter's scale", scale, shape.out_channels));
    const Shape out_shape = window_.MakeShape(shape.batch, shape.output, shape.out_channels);
    if (has_norm_) {
      ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, out_shape));
      RETURN_IF_ERROR(convolution_->Run(ctx, shape, PostOps(), input, filter, {}, output));
      return Normalise(ctx, output);
    }
    return fused_.Run(ctx, out_shape, shape.out_channels,
                      [&](const PostOps& post_ops, const PostOpInputs& inputs, Tensor* output) {
                        return convolution_->Run(ctx, shape, post_ops, input, filter, inputs,
                                                 output);
                      });
  }

 private:
  static constexpr bool kIsGrouped = kFilter == FilterKind::kGrouped;

  ConvolutionKernel(const KernelBuild& build, const std::vector<std::string>& fused_ops)
      : window_(ReadConvolutionWindow(build, kSpatialRank, kFilter)),
        norm_(build),
        has_norm_(kIsGrouped && !fused_ops.empty() && fused_ops[0] == "FusedBatchNorm"),
        epsilon_(has_norm_ ? build.attr<float>("epsilon") : 0),
        fused_(build, absl::MakeConstSpan(fused_ops).subspan(has_norm_ ? 1 : 0)),
        convolution_(Primitive<Convolution>(build)(build, /*filter_input=*/1)) {
    if (has_norm_) {
      if (fused_.post_ops().bias || fused_.post_ops().add) {
        build.Fail(absl::UnimplementedError("only an activation may follow a fused batch norm"));
      }
      CheckArgs(build, 4, 4);
    }
    if (!build.has_attr("num_scales")) return;
    const ArgRange scale = build.inputs("scale");
    if (scale.size() > 0) scale_input_ = scale.begin;
    if (scale.size() > 1 || (scale.size() > 0 && build.input_types()[1] != DType::kFloat)) {
      build.Fail(absl::InvalidArgumentError("only float filters can be scaled, and only once"));
    }
  }

  absl::Status Normalise(KernelContext& ctx, Tensor* output) {
    const bool channels_first = window_.channels_first();
    const int64_t channels = output->dim(channels_first ? 1 : output->rank() - 1);
    for (int i = 2; i < 6; ++i) {
      if (ctx.input(i).shape() == Shape{channels}) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("scale, offset, mean and variance must be vectors of ", channels,
                       " elements, one has shape ", ctx.input(i).shape().ToString()));
    }
    if (output->num_elements() == 0) return absl::OkStatus();
    const int64_t pixels = output->num_elements() / channels;
    const int64_t outer = channels_first ? output->dim(0) : pixels;
    return norm_(ctx, {.shape = {.outer = outer, .channels = channels, .inner = pixels / outer},
                       .epsilon = epsilon_,
                       .activation = fused_.post_ops().activation,
                       .alpha = fused_.post_ops().alpha,
                       .scale = ctx.input(2),
                       .offset = ctx.input(3),
                       .mean = ctx.input(4),
                       .variance = ctx.input(5),
                       .values = output});
  }

  const WindowAttrs window_;
  const Primitive<ChannelNorm> norm_;
  const bool has_norm_;
  const float epsilon_;  // of the batch norm
  const FusedOps fused_;
  const std::unique_ptr<Convolution> convolution_;
  int scale_input_ = -1;  // -1 if there is no scale
};

using Conv2D = ConvolutionKernel<2, FilterKind::kGrouped>;
using Conv3D = ConvolutionKernel<3, FilterKind::kGrouped>;
using DepthwiseConv2D = ConvolutionKernel<2, FilterKind::kDepthwise>;
constexpr auto kDevices = FusedDevicesOf<Convolution, ChannelNorm>;
REGISTER_KERNEL("Conv2D", kDevices, Conv2D);
REGISTER_KERNEL("Conv3D", kDevices, Conv3D);
REGISTER_KERNEL("DepthwiseConv2dNative", kDevices, DepthwiseConv2D);
REGISTER_KERNEL("_FusedConv2D", kDevices, Conv2D);
REGISTER_KERNEL("_FusedDepthwiseConv2dNative", kDevices, DepthwiseConv2D);

}  // namespace
}  // namespace tessera

// Conv2D, Conv3D, DepthwiseConv2dNative and their fused forms.
#include "runtime/kernels/primitives/cpu/convolution.h"

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/fused_residual.h"
#include "runtime/kernels/nn/channel_norm.h"
#include "runtime/kernels/nn/convolution_geometry.h"

namespace tessera {
namespace {

// The inputs are the images and the filter; fused forms then take `args` and the scale of the
// filter. `args` are the bias and the tensor to add, or scale, offset, mean and variance of a batch
// norm. Errors: INVALID_ARGUMENT for ranks, depths or sizes that do not fit.
template <int kSpatialRank, FilterKind kFilter, bool kFused>
class ConvolutionKernel : public OpKernel {
 public:
  explicit ConvolutionKernel(const KernelBuild& build)
      : window_(ReadConvolutionWindow(build, kSpatialRank, kFilter)),
        numerics_(build.numerics()),
        weights_(build, 1) {
    if constexpr (kFused) {
      const float alpha =
          build.has_attr("leakyrelu_alpha") ? build.attr<float>("leakyrelu_alpha") : 0.f;
      auto fused_ops = build.attr<std::vector<std::string>>("fused_ops");
      has_norm_ =
          kFilter == FilterKind::kGrouped && !fused_ops.empty() && fused_ops[0] == "FusedBatchNorm";
      if (has_norm_) {
        epsilon_ = build.attr<float>("epsilon");
        fused_ops.erase(fused_ops.begin());
      }
      auto post_ops = PostOps::Parse(fused_ops, alpha);
      if (post_ops.ok()) {
        post_ops_ = *post_ops;
      } else {
        build.Fail(post_ops.status());
      }
      if (has_norm_ && (post_ops_.bias || post_ops_.add)) {
        build.Fail(absl::UnimplementedError("only an activation may follow a fused batch norm"));
      }
      CheckArgs(build);
    }
    if constexpr (kFused && kFilter == FilterKind::kGrouped) {
      const ArgRange scale = build.inputs("scale");
      if (scale.size() > 0) scale_input_ = scale.begin;
      if (scale.size() > 1 || (scale.size() > 0 && build.input_types()[1] != DType::kFloat)) {
        build.Fail(absl::InvalidArgumentError("only float filters can be scaled, and only once"));
      }
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor* const scale = scale_input_ < 0 ? nullptr : &ctx.input(scale_input_);
    const ScaledWeights filter(ctx.input(1), scale);
    ASSIGN_OR_RETURN(const ConvolutionShape shape,
                     ConvolutionGeometry(window_, kFilter, input.shape(), filter.values.shape()));
    const Tensor* const bias = post_ops_.bias ? &ctx.input(2) : nullptr;
    RETURN_IF_ERROR(CheckChannels("bias", bias, shape.out_channels));
    RETURN_IF_ERROR(CheckChannels("filter's scale", scale, shape.out_channels));
    const Shape out_shape = window_.MakeShape(shape.batch, shape.output, shape.out_channels);
    PackedWeights* const packed = weights_.UseFor(ctx);
    if (has_norm_) {
      ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, out_shape));
      RETURN_IF_ERROR(
          Convolve(ctx, shape, PostOps(), input, filter, nullptr, packed, output, numerics_));
      const ChannelNorm norm{ctx.input(2), ctx.input(3), ctx.input(4), ctx.input(5), epsilon_};
      return NormalizeChannels(ctx, norm, post_ops_.activation, post_ops_.alpha,
                               window_.channels_first(), output);
    }
    if (!post_ops_.add) {
      ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, out_shape));
      return Convolve(ctx, shape, post_ops_, input, filter, bias, packed, output, numerics_);
    }
    return ComputeWithResidual(
        ctx, out_shape, post_ops_, [&](const PostOps& post_ops, Tensor* output) {
          return Convolve(ctx, shape, post_ops, input, filter, bias, packed, output, numerics_);
        });
  }

 private:
  // Checks that `args`, which may have any number and dtypes, are what the fused ops read.
  void CheckArgs(const KernelBuild& build) const {
    const int num_args = has_norm_ ? 4 : post_ops_.add ? 2 : post_ops_.bias ? 1 : 0;
    const ArgRange args = build.inputs("args");
    bool fits = has_norm_ ? args.size() == num_args : args.size() >= num_args;
    for (int i = 0; fits && i < num_args; ++i) {
      fits = build.input_types()[args.begin + i] == build.input_types()[0];
    }
    if (!fits) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat("fused_ops need ", num_args, " args of ",
                                                         DTypeName(build.input_types()[0]))));
    }
  }

  // Checks that a tensor, which may be null, has an element for each channel.
  static absl::Status CheckChannels(const char* what, const Tensor* values, int64_t channels) {
    if (values == nullptr || values->num_elements() == channels) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the ", what, " must have ", channels,
                                                   " elements, has shape ",
                                                   values->shape().ToString()));
  }

  const WindowAttrs window_;
  const Numerics numerics_;
  PostOps post_ops_;
  bool has_norm_ = false;
  float epsilon_ = 0;     // of the batch norm
  int scale_input_ = -1;  // -1 if there is no scale
  PackedWeights weights_;
};

using Conv2D = ConvolutionKernel<2, FilterKind::kGrouped, false>;
using Conv3D = ConvolutionKernel<3, FilterKind::kGrouped, false>;
using DepthwiseConv2D = ConvolutionKernel<2, FilterKind::kDepthwise, false>;
using FusedConv2D = ConvolutionKernel<2, FilterKind::kGrouped, true>;
using FusedDepthwiseConv2D = ConvolutionKernel<2, FilterKind::kDepthwise, true>;
REGISTER_KERNEL("Conv2D", kCpu, Conv2D);
REGISTER_KERNEL("Conv3D", kCpu, Conv3D);
REGISTER_KERNEL("DepthwiseConv2dNative", kCpu, DepthwiseConv2D);
REGISTER_KERNEL("_FusedConv2D", kCpu, FusedConv2D);
REGISTER_KERNEL("_FusedDepthwiseConv2dNative", kCpu, FusedDepthwiseConv2D);

}  // namespace
}  // namespace tessera

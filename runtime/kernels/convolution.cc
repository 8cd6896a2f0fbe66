// Conv2D, Conv3D, DepthwiseConv2dNative and their fused forms.
#include "runtime/kernels/cpu/convolution.h"

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/convolution_geometry.h"
#include "runtime/kernels/fused_residual.h"

namespace tessera {
namespace {

// Inputs: images, filter, then for fused forms the bias and what is to be added. Errors:
// INVALID_ARGUMENT for ranks, depths or sizes that do not fit.
template <int kSpatialRank, FilterKind kFilter, bool kFused>
class ConvolutionKernel : public OpKernel {
 public:
  explicit ConvolutionKernel(const KernelBuild& build) : window_(build, kSpatialRank) {
    if constexpr (kFused) {
      const float alpha =
          build.has_attr("leakyrelu_alpha") ? build.attr<float>("leakyrelu_alpha") : 0.f;
      auto post_ops = PostOps::Parse(build.attr<std::vector<std::string>>("fused_ops"), alpha);
      if (post_ops.ok()) {
        post_ops_ = *post_ops;
      } else {
        build.Fail(post_ops.status());
      }
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& filter = ctx.input(1);
    ASSIGN_OR_RETURN(const ConvolutionShape shape,
                     ConvolutionGeometry(window_, kFilter, input.shape(), filter.shape()));
    const Tensor* bias = nullptr;
    if (post_ops_.bias) {
      bias = &ctx.input(2);
      if (bias->num_elements() != shape.out_channels) {
        return absl::InvalidArgumentError(absl::StrCat("the bias must have ", shape.out_channels,
                                                       " elements, has shape ",
                                                       bias->shape().ToString()));
      }
    }
    const Shape out_shape = window_.MakeShape(shape.batch, shape.output, shape.out_channels);
    PackedWeights* const packed = ctx.IsLastUse(1) ? nullptr : &packed_;
    if (!post_ops_.add) {
      ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, out_shape));
      return Convolve(ctx, shape, post_ops_, input, filter, bias, packed, output);
    }
    return ComputeWithResidual(
        ctx, out_shape, post_ops_, [&](const PostOps& post_ops, Tensor* output) {
          return Convolve(ctx, shape, post_ops, input, filter, bias, packed, output);
        });
  }

 private:
  const WindowAttrs window_;
  PostOps post_ops_;
  PackedWeights packed_;
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

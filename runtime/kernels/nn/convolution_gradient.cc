// Gradients of convolutions; by the input, this is also the transposed convolution.
#include "runtime/kernels/primitives/convolution_gradient.h"

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/nn/convolution_geometry.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Checks that `gradient` has the shape of the convolution's output.
absl::Status CheckGradient(const WindowAttrs& window, const ConvolutionShape& shape,
                           const Tensor& gradient) {
  const Shape expected = window.MakeShape(shape.batch, shape.output, shape.out_channels);
  if (gradient.shape() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("out_backprop has shape ", gradient.shape().ToString(),
                   ", the convolution's output ", expected.ToString()));
}

// Where the shape of the gradient comes from: the input names it, or has it.
enum class ShapeInput { kSizes, kTensor };

template <ShapeInput kInput>
absl::StatusOr<Shape> ReadGradientShape(const Tensor& input, absl::string_view name) {
  if constexpr (kInput == ShapeInput::kTensor) return input.shape();
  return ReadShape(input, name);
}

// Inputs: input_sizes, filter, out_backprop. Unless the filter is depthwise, the sizes may leave
// out batch and channels, which are then those of out_backprop and filter.
template <int kSpatialRank, FilterKind kFilter, ShapeInput kInput = ShapeInput::kSizes>
class InputGradientKernel : public OpKernel {
 public:
  explicit InputGradientKernel(const KernelBuild& build)
      : window_(ReadConvolutionWindow(build, kSpatialRank, kFilter)), compute_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& filter = ctx.input(1);
    const Tensor& gradient = ctx.input(2);
    ASSIGN_OR_RETURN(Shape input, ReadGradientShape<kInput>(ctx.input(0), "input_sizes"));
    if (kFilter != FilterKind::kDepthwise && input.rank() == kSpatialRank &&
        gradient.rank() == kSpatialRank + 2 && filter.rank() == kSpatialRank + 2) {
      input = window_.MakeShape(gradient.dim(0), input.dims(), filter.dim(kSpatialRank));
    }
    ASSIGN_OR_RETURN(const ConvolutionShape shape,
                     ConvolutionGeometry(window_, kFilter, input, filter.shape()));
    RETURN_IF_ERROR(CheckGradient(window_, shape, gradient));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, input));
    return compute_(ctx, shape, gradient, filter, output);
  }

 private:
  const WindowAttrs window_;
  const Primitive<ConvolutionInputGradient> compute_;
};
using Conv2DInputGradient = InputGradientKernel<2, FilterKind::kGrouped>;
using Conv3DInputGradient = InputGradientKernel<3, FilterKind::kGrouped>;
using DepthwiseInputGradient = InputGradientKernel<2, FilterKind::kDepthwise>;
REGISTER_KERNEL("Conv2DBackpropInput", DevicesOf<ConvolutionInputGradient>, Conv2DInputGradient)
    .HostMemory("input_sizes");
REGISTER_KERNEL("Conv3DBackpropInputV2", DevicesOf<ConvolutionInputGradient>, Conv3DInputGradient)
    .HostMemory("input_sizes");
REGISTER_KERNEL("Conv3DBackpropInput", DevicesOf<ConvolutionInputGradient>,
                InputGradientKernel<3, FilterKind::kGrouped, ShapeInput::kTensor>);
REGISTER_KERNEL("DepthwiseConv2dNativeBackpropInput", DevicesOf<ConvolutionInputGradient>,
                DepthwiseInputGradient)
    .HostMemory("input_sizes");

// Inputs: input, filter_sizes, out_backprop.
template <int kSpatialRank, FilterKind kFilter, ShapeInput kInput = ShapeInput::kSizes>
class FilterGradientKernel : public OpKernel {
 public:
  explicit FilterGradientKernel(const KernelBuild& build)
      : window_(ReadConvolutionWindow(build, kSpatialRank, kFilter)), compute_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& gradient = ctx.input(2);
    ASSIGN_OR_RETURN(const Shape filter, ReadGradientShape<kInput>(ctx.input(1), "filter_sizes"));
    ASSIGN_OR_RETURN(const ConvolutionShape shape,
                     ConvolutionGeometry(window_, kFilter, input.shape(), filter));
    RETURN_IF_ERROR(CheckGradient(window_, shape, gradient));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, filter));
    return compute_(ctx, shape, input, gradient, output);
  }

 private:
  const WindowAttrs window_;
  const Primitive<ConvolutionFilterGradient> compute_;
};
using Conv2DFilterGradient = FilterGradientKernel<2, FilterKind::kGrouped>;
using Conv3DFilterGradient = FilterGradientKernel<3, FilterKind::kGrouped>;
using DepthwiseFilterGradient = FilterGradientKernel<2, FilterKind::kDepthwise>;
REGISTER_KERNEL("Conv2DBackpropFilter", DevicesOf<ConvolutionFilterGradient>, Conv2DFilterGradient)
    .HostMemory("filter_sizes");
REGISTER_KERNEL("Conv3DBackpropFilterV2", DevicesOf<ConvolutionFilterGradient>,
                Conv3DFilterGradient)
    .HostMemory("filter_sizes");
REGISTER_KERNEL("Conv3DBackpropFilter", DevicesOf<ConvolutionFilterGradient>,
                FilterGradientKernel<3, FilterKind::kGrouped, ShapeInput::kTensor>);
REGISTER_KERNEL("DepthwiseConv2dNativeBackpropFilter", DevicesOf<ConvolutionFilterGradient>,
                DepthwiseFilterGradient)
    .HostMemory("filter_sizes");

}  // namespace
}  // namespace tessera

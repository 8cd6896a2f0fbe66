#include "runtime/kernels/primitives/separable_block.h"

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cuda/convolve.h"
#include "runtime/kernels/primitives/cuda/registration.h"

namespace tessera::cuda {
namespace {

// Convolves each point of images of `spatial` points by itself.
ConvolutionShape PointwiseShape(const ConvolutionShape& depthwise, const SpatialDims& spatial,
                                int64_t in_channels, int64_t out_channels) {
  ConvolutionShape shape;
  shape.batch = depthwise.batch;
  shape.in_channels = in_channels;
  shape.out_channels = out_channels;
  shape.input = shape.output = spatial;
  shape.filter = shape.strides = shape.dilations = SpatialDims(spatial.size(), 1);
  shape.pad_before = shape.pad_after = SpatialDims(spatial.size(), 0);
  return shape;
}

Shape ImagesShape(const ConvolutionShape& shape) {
  return {shape.batch, shape.output[0], shape.output[1], shape.out_channels};
}

// The layers one after the other, with images in between.
class CudaSeparableBlock final : public SeparableBlock {
 public:
  absl::Status Run(KernelContext& ctx, const SeparableBlockShape& shape,
                   const SeparableLayers& layers, const Tensor& input, Tensor* output) override {
    if (output->num_elements() == 0) return absl::OkStatus();
    const ConvolutionShape& depthwise = shape.depthwise;
    Tensor expanded = input;
    if (shape.expands) {
      const ConvolutionShape expand =
          PointwiseShape(depthwise, depthwise.input, shape.in_channels, depthwise.in_channels);
      ASSIGN_OR_RETURN(expanded, ctx.AllocateTemp(DType::kFloat, ImagesShape(expand)));
      RETURN_IF_ERROR(RunLayer(ctx, expand, layers.expand, input, nullptr, &expanded));
    }
    ASSIGN_OR_RETURN(Tensor filtered, ctx.AllocateTemp(DType::kFloat, ImagesShape(depthwise)));
    RETURN_IF_ERROR(RunLayer(ctx, depthwise, layers.depthwise, expanded, nullptr, &filtered));
    const ConvolutionShape project =
        PointwiseShape(depthwise, depthwise.output, depthwise.out_channels, shape.out_channels);
    return RunLayer(ctx, project, layers.project, filtered, shape.adds_input ? &input : nullptr,
                    output);
  }

 private:
  static absl::Status RunLayer(KernelContext& ctx, const ConvolutionShape& shape,
                               const SeparableLayer& layer, const Tensor& input,
                               const Tensor* addend, Tensor* output) {
    PostOps post_ops;
    post_ops.bias = layer.bias != nullptr;
    post_ops.add = addend != nullptr;
    post_ops.activation = layer.activation;
    return Convolve(ctx, shape, post_ops, input, *layer.filter,
                    {.bias = layer.bias, .addend = addend}, output);
  }
};

REGISTER_CUDA_PRIMITIVE(SeparableBlock,
                        [](const KernelBuild& /*build*/,
                           const SeparableBlock::FilterInputs& /*filters*/)
                            -> std::unique_ptr<SeparableBlock> {
                          return std::make_unique<CudaSeparableBlock>();
                        });

}  // namespace
}  // namespace tessera::cuda

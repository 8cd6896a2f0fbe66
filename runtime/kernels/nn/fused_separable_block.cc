// The kernel of blocks that the pass fuse_separable_block puts together from a depthwise
// convolution and the pointwise ones around it.
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/fused_ops.h"
#include "runtime/kernels/nn/convolution_geometry.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/separable_block.h"

namespace tessera {
namespace {

// The inputs are the images, then the filters and the biases of the layers. Errors:
// INVALID_ARGUMENT for ranks, depths or sizes that do not fit; UNIMPLEMENTED for an activation that
// does not clamp, and for several outputs of a channel.
class SeparableBlockKernel : public OpKernel {
 public:
  explicit SeparableBlockKernel(const KernelBuild& build)
      : window_(ReadConvolutionWindow(build, 2, FilterKind::kDepthwise)),
        num_layers_(build.attr<int64_t>("num_layers")),
        expand_(Parse(build, "expand_ops")),
        depthwise_(Parse(build, "depthwise_ops")),
        project_(Parse(build, "project_ops")),
        block_(Primitive<SeparableBlock>(build)(
            build, SeparableBlock::FilterInputs{.expand = 1,
                                                .depthwise = static_cast<int>(num_layers_) - 1,
                                                .project = static_cast<int>(num_layers_)})) {
    if (num_layers_ != (expands() ? 3 : 2) || !depthwise_.bias || !project_.bias || expand_.add ||
        depthwise_.add) {
      build.Fail(absl::InvalidArgumentError(
          "the layers are a depthwise and a pointwise convolution, which may add the input, and "
          "before them one with expand_ops"));
    }
  }

  absl::Status Prepare(const PrepareContext& context) override {
    return block_->Prepare(context, expands());
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int first = expands() ? 1 : 0;
    const Tensor& filter = ctx.input(1 + first);
    SeparableBlockShape block{.expands = expands(), .adds_input = project_.add};
    Shape middle = input.shape();
    if (expands()) {
      RETURN_IF_ERROR(CheckPointwise(ctx.input(1), input.shape()));
      middle.SetDim(3, ctx.input(1).dim(3));
    }
    ASSIGN_OR_RETURN(block.depthwise,
                     ConvolutionGeometry(window_, FilterKind::kDepthwise, middle, filter.shape()));
    if (block.depthwise.in_channels != block.depthwise.out_channels) {
      return absl::UnimplementedError(absl::StrCat("a block's depthwise filter of shape ",
                                                   filter.shape().ToString(),
                                                   " must have one output a channel"));
    }
    middle = window_.MakeShape(block.depthwise.batch, block.depthwise.output,
                               block.depthwise.out_channels);
    const Tensor& project = ctx.input(2 + first);
    RETURN_IF_ERROR(CheckPointwise(project, middle));
    block.in_channels = input.dim(3);
    block.out_channels = project.dim(3);
    middle.SetDim(3, block.out_channels);
    if (block.adds_input && !(middle == input.shape())) {
      return absl::InvalidArgumentError(absl::StrCat("a block cannot add its input of shape ",
                                                     input.shape().ToString(), " to its output of ",
                                                     middle.ToString()));
    }
    SeparableLayers layers;
    int at = 1;
    if (expands()) {
      ASSIGN_OR_RETURN(layers.expand, MakeLayer(ctx, at++, expand_, block.depthwise.in_channels));
    }
    ASSIGN_OR_RETURN(layers.depthwise,
                     MakeLayer(ctx, at++, depthwise_, block.depthwise.in_channels));
    ASSIGN_OR_RETURN(layers.project, MakeLayer(ctx, at++, project_, block.out_channels));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, middle));
    return block_->Run(ctx, block, layers, input, output);
  }

 private:
  bool expands() const { return expand_.bias; }

  static PostOps Parse(const KernelBuild& build, const char* attr) {
    const auto ops = build.attr<std::vector<std::string>>(attr);
    const auto post_ops = PostOps::Parse(ops, 0);
    if (!post_ops.ok()) {
      build.Fail(post_ops.status());
    } else if (!IsClamp(post_ops->activation) || post_ops->bias == ops.empty()) {
      build.Fail(absl::UnimplementedError(
          absl::StrCat(attr, " must be BiasAdd, and then possibly Relu or Relu6")));
    } else {
      return *post_ops;
    }
    return PostOps();
  }

  static absl::Status CheckPointwise(const Tensor& filter, const Shape& input) {
    if (input.rank() == 4 && filter.rank() == 4 && filter.dim(0) == 1 && filter.dim(1) == 1 &&
        filter.dim(2) == input.dim(3) && filter.num_elements() > 0) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat("a pointwise filter of shape ",
                                                   filter.shape().ToString(),
                                                   " does not fit images of ", input.ToString()));
  }

  // Returns layer `at`, counted from 1, which has `channels` outputs.
  absl::StatusOr<SeparableLayer> MakeLayer(KernelContext& ctx, int64_t at, const PostOps& post_ops,
                                           int64_t channels) const {
    const Tensor& bias = ctx.input(static_cast<int>(num_layers_ + at));
    RETURN_IF_ERROR(CheckChannels("bias", &bias, channels));
    return SeparableLayer{.filter = &ctx.input(static_cast<int>(at)),
                          .bias = &bias,
                          .activation = post_ops.activation};
  }

  const WindowAttrs window_;
  const int64_t num_layers_;
  const PostOps expand_, depthwise_, project_;
  const std::unique_ptr<SeparableBlock> block_;
};
REGISTER_KERNEL("_SeparableBlock", DevicesOf<SeparableBlock>, SeparableBlockKernel);

}  // namespace
}  // namespace tessera

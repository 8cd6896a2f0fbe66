// The kernel of blocks that the pass fuse_separable_block puts together from a depthwise
// convolution and the pointwise ones around it.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/convolution_geometry.h"
#include "runtime/kernels/primitives/cpu/separable_block.h"

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
        numerics_(build.numerics()),
        expand_(build, 1),
        depthwise_(build, static_cast<int>(num_layers_) - 1),
        project_(build, static_cast<int>(num_layers_)) {
    Parse(build, "expand_ops", &expand_);
    Parse(build, "depthwise_ops", &depthwise_);
    Parse(build, "project_ops", &project_);
    if (num_layers_ != (expands() ? 3 : 2) || !depthwise_.post_ops.bias ||
        !project_.post_ops.bias || expand_.post_ops.add || depthwise_.post_ops.add) {
      build.Fail(absl::InvalidArgumentError(
          "the layers are a depthwise and a pointwise convolution, which may add the input, and "
          "before them one with expand_ops"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int first = expands() ? 1 : 0;
    const Tensor& filter = ctx.input(1 + first);
    SeparableBlock block{.expands = expands(), .adds_input = project_.post_ops.add};
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
    int at = 1;
    ASSIGN_OR_RETURN(const SeparableLayer expand,
                     expands() ? MakeLayer(ctx, at++, &expand_) : SeparableLayer());
    ASSIGN_OR_RETURN(const SeparableLayer depthwise, MakeLayer(ctx, at++, &depthwise_));
    ASSIGN_OR_RETURN(const SeparableLayer last, MakeLayer(ctx, at++, &project_));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, middle));
    if (output->num_elements() == 0) return absl::OkStatus();
    return ComputeSeparableBlock(ctx, block, expand, depthwise, last, input.data<float>(),
                                 output->data<float>(), numerics_);
  }

 private:
  struct Layer {
    Layer(const KernelBuild& build, int input) : weights(build, input) {}
    PostOps post_ops;
    PackedWeights weights;
  };

  bool expands() const { return expand_.post_ops.bias; }

  static void Parse(const KernelBuild& build, const char* attr, Layer* layer) {
    const auto ops = build.attr<std::vector<std::string>>(attr);
    const auto post_ops = PostOps::Parse(ops, 0);
    if (!post_ops.ok()) {
      build.Fail(post_ops.status());
    } else if (!IsClamp(post_ops->activation) || post_ops->bias == ops.empty()) {
      build.Fail(absl::UnimplementedError(
          absl::StrCat(attr, " must be BiasAdd, and then possibly Relu or Relu6")));
    } else {
      layer->post_ops = *post_ops;
    }
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

  // Returns layer `at`, counted from 1.
  absl::StatusOr<SeparableLayer> MakeLayer(KernelContext& ctx, int at, Layer* layer) const {
    const Tensor &filter = ctx.input(at), &bias = ctx.input(num_layers_ + at);
    const int64_t channels = layer == &depthwise_ ? filter.dim(2) : filter.dim(3);
    if (bias.num_elements() != channels) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the bias must have ", channels, " elements, has shape ", bias.shape().ToString()));
    }
    return SeparableLayer{.filter = &filter,
                          .bias = &bias,
                          .activation = layer->post_ops.activation,
                          .packed = layer->weights.UseFor(ctx)};
  }

  const WindowAttrs window_;
  const int64_t num_layers_;
  const Numerics numerics_;
  Layer expand_, depthwise_, project_;
};
REGISTER_KERNEL("_SeparableBlock", kCpu, SeparableBlockKernel);

}  // namespace
}  // namespace tessera

// Conv: convolutions whose rank is that of their strides, with any number of batch dimensions.
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/convolution_geometry.h"
#include "runtime/kernels/primitives/convolution.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// `strides` has an element for each dimension of images with one batch dimension, four or five.
int SpatialRank(const KernelBuild& build) {
  const auto rank = static_cast<int>(build.attr<std::vector<int64_t>>("strides").size()) - 2;
  if (rank == 2 || rank == 3) return rank;
  build.Fail(absl::InvalidArgumentError(
      absl::StrCat("Conv has 2 or 3 spatial dimensions, not ", rank, ", as strides say")));
  return 2;
}

// Errors: INVALID_ARGUMENT for ranks, depths or sizes that do not fit.
class ConvKernel : public OpKernel {
 public:
  explicit ConvKernel(const KernelBuild& build)
      : window_(ReadConvolutionWindow(build, SpatialRank(build), FilterKind::kGrouped)),
        batch_dims_(static_cast<int>(build.attr<int64_t>("batch_dims"))),
        convolution_(Primitive<Convolution>(build)(build, /*filter_input=*/1)) {
    if (batch_dims_ < 0) {
      build.Fail(absl::InvalidArgumentError("batch_dims must be non-negative"));
    }
    const auto groups = build.attr<int64_t>("groups");
    if (groups <= 0) build.Fail(absl::InvalidArgumentError("groups must be positive"));
    if (groups > 1) {
      build.Fail(absl::UnimplementedError(absl::StrCat(groups, " groups are not supported")));
    }
  }

  absl::Status Prepare(const PrepareContext& context) override {
    return convolution_->Prepare(context, /*out_dims=*/1);
  }

  absl::Status Compute(KernelContext& ctx) override {
    const int spatial_rank = window_.spatial_rank();
    const Tensor& given = ctx.input(0);
    if (given.rank() != batch_dims_ + spatial_rank + 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input must have ", batch_dims_, " batch and ", spatial_rank,
                       " spatial dimensions and channels, has shape ", given.shape().ToString()));
    }
    Shape images{1};
    for (int d = 0; d < batch_dims_; ++d) images.SetDim(0, images.dim(0) * given.dim(d));
    for (int d = batch_dims_; d < given.rank(); ++d) images.AddDim(given.dim(d));
    ASSIGN_OR_RETURN(const Tensor input, given.Reshaped(images));
    const ScaledWeights filter(ctx.input(1), nullptr);
    ASSIGN_OR_RETURN(
        const ConvolutionShape shape,
        ConvolutionGeometry(window_, FilterKind::kGrouped, images, filter.values.shape()));
    const Shape flat = window_.MakeShape(shape.batch, shape.output, shape.out_channels);
    Shape full;
    for (int d = 0; d < batch_dims_; ++d) full.AddDim(given.dim(d));
    for (int d = 1; d < flat.rank(); ++d) full.AddDim(flat.dim(d));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, full));
    ASSIGN_OR_RETURN(Tensor output, y->Reshaped(flat));
    return convolution_->Run(ctx, shape, PostOps(), input, filter, {}, &output);
  }

 private:
  const WindowAttrs window_;
  const int batch_dims_;
  const std::unique_ptr<Convolution> convolution_;
};
REGISTER_KERNEL("Conv", DevicesOf<Convolution>, ConvKernel);

}  // namespace
}  // namespace tessera

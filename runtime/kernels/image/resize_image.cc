// Resizing images by separable resampling: ResizeBilinear, ResizeBicubic, ResizeArea,
// ScaleAndTranslate, and their gradients.
#include <string>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/image/resample_taps.h"
#include "runtime/kernels/image/resize_arguments.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/primitives/resample.h"

namespace tessera {
namespace {

using MakeTaps = ResampleTaps (*)(const ResampleGrid&);

// Errors: INVALID_ARGUMENT for anything but images with pixels and two positive sizes.
template <MakeTaps kTaps>
class ResizeKernel : public OpKernel {
 public:
  explicit ResizeKernel(const KernelBuild& build) : attrs_(build), resample_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    RETURN_IF_ERROR(CheckImages(images, "images"));
    ASSIGN_OR_RETURN(const IndexVector size, ReadImageSize(ctx.input(1)));
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({images.dim(0), size[0], size[1], images.dim(3)}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    const ResampleTaps rows = kTaps(attrs_.Grid(images.dim(1), size[0]));
    const ResampleTaps columns = kTaps(attrs_.Grid(images.dim(2), size[1]));
    return resample_(ctx, rows, columns, images, out);
  }

 private:
  const ResizeAttrs attrs_;
  const Primitive<Resample> resample_;
};
REGISTER_KERNEL("ResizeBilinear", DevicesOf<Resample>, ResizeKernel<BilinearTaps>)
    .HostMemory("size");
REGISTER_KERNEL("ResizeBicubic", DevicesOf<Resample>, ResizeKernel<BicubicTaps>).HostMemory("size");
REGISTER_KERNEL("ResizeArea", DevicesOf<Resample>, ResizeKernel<AreaTaps>).HostMemory("size");

// Inputs: gradients of the resized images, and the original images, whose shape counts.
template <MakeTaps kTaps>
class ResizeGradientKernel : public OpKernel {
 public:
  explicit ResizeGradientKernel(const KernelBuild& build) : attrs_(build), spread_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& gradients = ctx.input(0);
    const Tensor& original = ctx.input(1);
    RETURN_IF_ERROR(CheckPixels(gradients, "grads"));
    RETURN_IF_ERROR(CheckPixels(original, "original_image"));
    if (gradients.dim(0) != original.dim(0) || gradients.dim(3) != original.dim(3)) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradients of shape ", gradients.shape().ToString(),
                       " do not belong to images of shape ", original.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, original.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    const ResampleTaps rows = kTaps(Grid(original.dim(1), gradients.dim(1)));
    const ResampleTaps columns = kTaps(Grid(original.dim(2), gradients.dim(2)));
    return spread_(ctx, rows, columns, gradients, out);
  }

 private:
  // The corners of a single pixel cannot be aligned.
  ResampleGrid Grid(int64_t in_size, int64_t out_size) const {
    ResampleGrid grid = attrs_.Grid(in_size, out_size);
    grid.align_corners = grid.align_corners && in_size > 1;
    return grid;
  }

  const ResizeAttrs attrs_;
  const Primitive<ResampleGradient> spread_;
};
REGISTER_KERNEL("ResizeBilinearGrad", DevicesOf<ResampleGradient>,
                ResizeGradientKernel<BilinearTaps>);
REGISTER_KERNEL("ResizeBicubicGrad", DevicesOf<ResampleGradient>,
                ResizeGradientKernel<BicubicTaps>);

// Two numbers for height and width. Errors: INVALID_ARGUMENT for another shape.
absl::StatusOr<absl::Span<const float>> ReadPair(const Tensor& input, absl::string_view name) {
  if (!(input.shape() == Shape{2})) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' must have two elements, has shape ", input.shape().ToString()));
  }
  return input.flat<float>();
}

// Scale and translation, and the attributes, read the same way for both directions.
class ScaleAndTranslateBase : public OpKernel {
 public:
  explicit ScaleAndTranslateBase(const KernelBuild& build)
      : kernel_(build.attr<std::string>("kernel_type")), antialias_(build.attr<bool>("antialias")) {
    build.Fail(KernelTaps(1, 1, 1, 0, kernel_, antialias_).status());
  }

 protected:
  struct Placement {
    absl::Span<const float> scale, offset;
  };
  struct TapPair {
    ResampleTaps rows, columns;
  };

  // Inputs 2 and 3, `scale` and `translation`. Errors: INVALID_ARGUMENT for other shapes, and for a
  // scale that is not positive.
  static absl::StatusOr<Placement> ReadPlacement(const KernelContext& ctx) {
    Placement placement;
    ASSIGN_OR_RETURN(placement.scale, ReadPair(ctx.input(2), "scale"));
    ASSIGN_OR_RETURN(placement.offset, ReadPair(ctx.input(3), "translation"));
    if (placement.scale[0] > 0 && placement.scale[1] > 0) return placement;
    return absl::InvalidArgumentError(absl::StrCat(
        "'scale' must be positive, is [", placement.scale[0], ", ", placement.scale[1], "]"));
  }

  absl::StatusOr<TapPair> MakeTaps(const Placement& placement, const Tensor& images,
                                   int64_t out_height, int64_t out_width) const {
    TapPair taps;
    ASSIGN_OR_RETURN(taps.rows, KernelTaps(images.dim(1), out_height, placement.scale[0],
                                           placement.offset[0], kernel_, antialias_));
    ASSIGN_OR_RETURN(taps.columns, KernelTaps(images.dim(2), out_width, placement.scale[1],
                                              placement.offset[1], kernel_, antialias_));
    return taps;
  }

 private:
  const std::string kernel_;
  const bool antialias_;
};

class ScaleAndTranslateKernel : public ScaleAndTranslateBase {
 public:
  explicit ScaleAndTranslateKernel(const KernelBuild& build)
      : ScaleAndTranslateBase(build), resample_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    RETURN_IF_ERROR(CheckImages(images, "images"));
    ASSIGN_OR_RETURN(const IndexVector size, ReadImageSize(ctx.input(1)));
    ASSIGN_OR_RETURN(const Placement placement, ReadPlacement(ctx));
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({images.dim(0), size[0], size[1], images.dim(3)}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const TapPair taps, MakeTaps(placement, images, size[0], size[1]));
    return resample_(ctx, taps.rows, taps.columns, images, out);
  }

 private:
  const Primitive<Resample> resample_;
};
REGISTER_KERNEL("ScaleAndTranslate", DevicesOf<Resample>, ScaleAndTranslateKernel)
    .HostMemory("size")
    .HostMemory("scale")
    .HostMemory("translation");

// The gradient has the images and channels of the gradients, and the height and width of the
// original image. It is zero where the gradients have no pixels.
class ScaleAndTranslateGradKernel : public ScaleAndTranslateBase {
 public:
  explicit ScaleAndTranslateGradKernel(const KernelBuild& build)
      : ScaleAndTranslateBase(build), fill_(build), spread_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& gradients = ctx.input(0);
    const Tensor& original = ctx.input(1);
    for (const Tensor* images : {&gradients, &original}) {
      if (images->rank() == 4) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("gradients and images must be [batch, height, width, channels], one has "
                       "shape ",
                       images->shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Placement placement, ReadPlacement(ctx));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({gradients.dim(0), original.dim(1),
                                                     original.dim(2), gradients.dim(3)}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    if (gradients.num_elements() == 0) return fill_(ctx, nullptr, out);
    ASSIGN_OR_RETURN(const TapPair taps,
                     MakeTaps(placement, original, gradients.dim(1), gradients.dim(2)));
    return spread_(ctx, taps.rows, taps.columns, gradients, out);
  }

 private:
  const Primitive<Fill> fill_;
  const Primitive<ResampleGradient> spread_;
};
REGISTER_KERNEL("ScaleAndTranslateGrad", (DevicesOf<Fill, ResampleGradient>),
                ScaleAndTranslateGradKernel)
    .HostMemory("scale")
    .HostMemory("translation");

}  // namespace
}  // namespace tessera

// Resizing images by taking the nearest pixel: ResizeNearestNeighbor and its gradient.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/image/resize_arguments.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/nearest_pixels.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// The input pixel of each output pixel along one axis.
std::vector<int64_t> Nearest(const ResampleGrid& grid) {
  std::vector<int64_t> index(grid.out_size);
  const float scale = grid.Scale();
  for (int64_t i = 0; i < grid.out_size; ++i) {
    const float x = (static_cast<float>(i) + (grid.half_pixel_centers ? 0.5f : 0.0f)) * scale;
    const auto nearest = static_cast<int64_t>(grid.align_corners ? std::round(x) : std::floor(x));
    index[i] = std::clamp<int64_t>(nearest, 0, grid.in_size - 1);
  }
  return index;
}

class ResizeNearestKernel : public OpKernel {
 public:
  explicit ResizeNearestKernel(const KernelBuild& build) : attrs_(build), take_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    RETURN_IF_ERROR(CheckImages(images, "images"));
    ASSIGN_OR_RETURN(const IndexVector size, ReadImageSize(ctx.input(1)));
    const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({images.dim(0), size[0], size[1], channels}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    const std::vector<int64_t> rows = Nearest(attrs_.Grid(height, size[0])),
                               columns = Nearest(attrs_.Grid(width, size[1]));
    return take_(ctx, rows, columns, images, out);
  }

 private:
  const ResizeAttrs attrs_;
  const Primitive<NearestPixels> take_;
};
REGISTER_KERNEL("ResizeNearestNeighbor", DevicesOf<NearestPixels>, ResizeNearestKernel)
    .HostMemory("size");

// Each gradient goes to the pixel that was taken; `size` is that of the original images.
class ResizeNearestGradKernel : public OpKernel {
 public:
  explicit ResizeNearestGradKernel(const KernelBuild& build)
      : attrs_(build, /*may_combine=*/true), fill_(build), add_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& gradients = ctx.input(0);
    if (gradients.rank() != 4 || gradients.num_elements() > 0) {
      RETURN_IF_ERROR(CheckImages(gradients, "grads"));
    }
    ASSIGN_OR_RETURN(const IndexVector size, ReadImageSize(ctx.input(1)));
    const int64_t height = gradients.dim(1), width = gradients.dim(2), channels = gradients.dim(3);
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({gradients.dim(0), size[0], size[1], channels}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    if (gradients.num_elements() == 0) return fill_(ctx, nullptr, out);
    const std::vector<int64_t> rows = Nearest(attrs_.Grid(size[0], height)),
                               columns = Nearest(attrs_.Grid(size[1], width));
    return add_(ctx, rows, columns, gradients, out);
  }

 private:
  const ResizeAttrs attrs_;
  const Primitive<Fill> fill_;
  const Primitive<NearestPixelsGradient> add_;
};
REGISTER_KERNEL("ResizeNearestNeighborGrad", (DevicesOf<Fill, NearestPixelsGradient>),
                ResizeNearestGradKernel)
    .HostMemory("size");

}  // namespace
}  // namespace tessera

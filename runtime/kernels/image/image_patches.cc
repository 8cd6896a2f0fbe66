// Patches of images and volumes, laid out along the channels: ExtractImagePatches,
// ExtractVolumePatches.
#include <array>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/window.h"

namespace tessera {
namespace {

// Output [batch, rows, columns, patch height * patch width * channels]; what lies outside is 0.
// Errors: INVALID_ARGUMENT unless the input has 4 dimensions and the patches fit.
class ExtractPatchesKernel : public OpKernel {
 public:
  explicit ExtractPatchesKernel(const KernelBuild& build)
      : sizes_(ReadWindowList(build, "ksizes", 2, absl::StatusCode::kOutOfRange)),
        strides_(ReadWindowList(build, "strides", 2, absl::StatusCode::kOutOfRange)),
        rates_(ReadWindowList(build, "rates", 2, absl::StatusCode::kOutOfRange)),
        padding_(build.attr<std::string>("padding") == "SAME" ? Padding::kSame : Padding::kValid) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    if (images.rank() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("images must be [batch, height, width, channels], have shape ",
                       images.shape().ToString()));
    }
    const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
    const WindowExtent rows =
        SlideWindow(padding_, height, (sizes_[1] - 1) * rates_[1] + 1, strides_[1]);
    const WindowExtent columns =
        SlideWindow(padding_, width, (sizes_[2] - 1) * rates_[2] + 1, strides_[2]);
    if (rows.output < 0 || columns.output < 0) {
      return absl::InvalidArgumentError(absl::StrCat("patches of ", sizes_[1], " x ", sizes_[2],
                                                     " do not fit into images of shape ",
                                                     images.shape().ToString()));
    }
    const int64_t depth =
        MultiplyWithoutOverflow(MultiplyWithoutOverflow(sizes_[1], sizes_[2]), channels);
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({images.dim(0), rows.output, columns.output, depth}));
    ASSIGN_OR_RETURN(Tensor * patches, ctx.AllocateOutput(0, shape));
    if (patches->num_elements() == 0) return absl::OkStatus();
    const DType dtype = images.dtype();
    const int64_t pixel = channels * static_cast<int64_t>(DTypeSize(dtype));
    ctx.ParallelFor(
        images.dim(0) * rows.output, 1.0 * columns.output * depth, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const char* const image = images.raw() + i / rows.output * height * width * pixel;
            const int64_t top = i % rows.output * strides_[1] - rows.pad_before;
            char* to = patches->mutable_raw() + i * columns.output * sizes_[1] * sizes_[2] * pixel;
            for (int64_t j = 0; j < columns.output; ++j) {
              const int64_t left = j * strides_[2] - columns.pad_before;
              for (int64_t k = 0; k < sizes_[1] * sizes_[2]; ++k, to += pixel) {
                const int64_t y = top + k / sizes_[2] * rates_[1];
                const int64_t x = left + k % sizes_[2] * rates_[2];
                if (y >= 0 && y < height && x >= 0 && x < width) {
                  CopyElements(dtype, image + (y * width + x) * pixel, to, channels);
                } else {
                  ZeroElements(dtype, to, channels);
                }
              }
            }
          }
        });
    return absl::OkStatus();
  }

 private:
  const std::vector<int64_t> sizes_, strides_, rates_;
  const Padding padding_;
};
REGISTER_KERNEL("ExtractImagePatches", kCpu, ExtractPatchesKernel);

std::array<int64_t, 3> ReadVolumeList(const KernelBuild& build, absl::string_view attr) {
  const std::vector<int64_t> list = ReadWindowList(build, attr, 3, absl::StatusCode::kOutOfRange);
  return {list[1], list[2], list[3]};
}

// Output [batch, planes, rows, columns, patch size * channels]; what lies outside is 0.
// Errors: INVALID_ARGUMENT unless the input has 5 dimensions and the patches fit.
class ExtractVolumePatchesKernel : public OpKernel {
 public:
  explicit ExtractVolumePatchesKernel(const KernelBuild& build)
      : sizes_(ReadVolumeList(build, "ksizes")),
        strides_(ReadVolumeList(build, "strides")),
        padding_(build.attr<std::string>("padding") == "SAME" ? Padding::kSame : Padding::kValid) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& volumes = ctx.input(0);
    if (volumes.rank() != 5) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input must be [batch, planes, rows, columns, channels], has shape ",
                       volumes.shape().ToString()));
    }
    std::array<WindowExtent, 3> extents;
    for (int i = 0; i < 3; ++i) {
      extents[i] = SlideWindow(padding_, volumes.dim(i + 1), sizes_[i], strides_[i]);
      if (extents[i].output >= 0) continue;
      return absl::InvalidArgumentError(absl::StrCat("a patch of ", sizes_[i],
                                                     " does not fit into dimension ", i + 1,
                                                     " of shape ", volumes.shape().ToString()));
    }
    const int64_t channels = volumes.dim(4);
    const int64_t patch =
        MultiplyWithoutOverflow(MultiplyWithoutOverflow(sizes_[0], sizes_[1]), sizes_[2]);
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({volumes.dim(0), extents[0].output, extents[1].output,
                                  extents[2].output, MultiplyWithoutOverflow(patch, channels)}));
    ASSIGN_OR_RETURN(Tensor* const patches, ctx.AllocateOutput(0, shape));
    if (patches->num_elements() == 0) return absl::OkStatus();
    const int64_t count = patches->num_elements() / (patch * channels);
    ctx.ParallelFor(count, 1.0 * static_cast<double>(patch * channels),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) CopyPatch(volumes, extents, i, patches);
                    });
    return absl::OkStatus();
  }

 private:
  // Copies patch `i`, in row-major order of the outputs.
  void CopyPatch(const Tensor& volumes, const std::array<WindowExtent, 3>& extents, int64_t i,
                 Tensor* patches) const {
    const DType dtype = volumes.dtype();
    const int64_t channels = volumes.dim(4);
    const int64_t voxel = channels * static_cast<int64_t>(DTypeSize(dtype));
    char* to = patches->mutable_raw() + i * sizes_[0] * sizes_[1] * sizes_[2] * voxel;
    std::array<int64_t, 3> first;
    for (int d = 2; d >= 0; --d) {
      first[d] = i % extents[d].output * strides_[d] - extents[d].pad_before;
      i /= extents[d].output;
    }
    const auto inside = [&](int d, int64_t at) { return at >= 0 && at < volumes.dim(d + 1); };
    for (int64_t z = first[0]; z < first[0] + sizes_[0]; ++z) {
      for (int64_t y = first[1]; y < first[1] + sizes_[1]; ++y) {
        for (int64_t x = first[2]; x < first[2] + sizes_[2]; ++x, to += voxel) {
          if (inside(0, z) && inside(1, y) && inside(2, x)) {
            const int64_t at = ((i * volumes.dim(1) + z) * volumes.dim(2) + y) * volumes.dim(3) + x;
            CopyElements(dtype, volumes.raw() + at * voxel, to, channels);
          } else {
            ZeroElements(dtype, to, channels);
          }
        }
      }
    }
  }

  const std::array<int64_t, 3> sizes_, strides_;
  const Padding padding_;
};
REGISTER_KERNEL("ExtractVolumePatches", kCpu, ExtractVolumePatchesKernel);

}  // namespace
}  // namespace tessera

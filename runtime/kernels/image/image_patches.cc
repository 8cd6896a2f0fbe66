// Patches of images, laid out along the channels: ExtractImagePatches.
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
      : sizes_(ReadWindowList(build, "ksizes")),
        strides_(ReadWindowList(build, "strides")),
        rates_(ReadWindowList(build, "rates")),
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
    const int64_t depth = sizes_[1] * sizes_[2] * channels;
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

}  // namespace
}  // namespace tessera

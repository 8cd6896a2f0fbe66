// Frames drawn into images: DrawBoundingBoxes and its second version, which is given the colours.
#include <algorithm>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// The colours of frames one after the other, when none are given: yellow, blue, red, lime, purple,
// olive, maroon, navy, aqua, fuchsia.
constexpr float kColors[][4] = {{1, 1, 0, 1},     {0, 0, 1, 1},     {1, 0, 0, 1},   {0, 1, 0, 1},
                                {.5f, 0, .5f, 1}, {.5f, .5f, 0, 1}, {.5f, 0, 0, 1}, {0, 0, .5f, 1},
                                {0, 1, 1, 1},     {1, 0, 1, 1}};

// Inputs: images [batch, height, width, 1, 3 or 4], boxes [batch, n, 4] as [y1, x1, y2, x2] of the
// size, and for the second version colours [m, channels], taken in turn.
// Errors: INVALID_ARGUMENT for other shapes.
class DrawBoxesKernel : public OpKernel {
 public:
  explicit DrawBoxesKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    const Tensor& boxes = ctx.input(1);
    if (images.rank() != 4 || boxes.rank() != 3 || boxes.dim(2) != 4 ||
        boxes.dim(0) != images.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "inputs must be images [batch, height, width, channels] and boxes [batch, n, 4], have ",
          "shapes ", images.shape().ToString(), " and ", boxes.shape().ToString()));
    }
    const int64_t channels = images.dim(3);
    if (channels != 1 && channels != 3 && channels != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("images must have 1, 3 or 4 channels, have ", channels));
    }
    ASSIGN_OR_RETURN(const std::vector<float> colors, Colors(ctx, channels));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, images.shape()));
    if (images.num_elements() == 0) return absl::OkStatus();
    CopyElements(images.dtype(), images.raw(), out->mutable_raw(), images.num_elements());
    const int64_t num_colors = static_cast<int64_t>(colors.size()) / channels;
    return VisitRealType(out->dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < boxes.dim(0) * boxes.dim(1); ++i) {
        const int64_t image = i / boxes.dim(1), number = i % boxes.dim(1);
        Draw(boxes.data<float>() + i * 4, &colors[number % num_colors * channels], *out,
             out->data<T>() + image * images.dim(1) * images.dim(2) * channels);
      }
      return absl::OkStatus();
    });
  }

 private:
  // As many as there are, `channels` numbers each.
  static absl::StatusOr<std::vector<float>> Colors(KernelContext& ctx, int64_t channels) {
    std::vector<float> colors;
    if (ctx.num_inputs() > 2 && ctx.input(2).num_elements() > 0) {
      const Tensor& given = ctx.input(2);
      if (!given.shape().IsMatrix() || given.dim(1) < channels) {
        return absl::InvalidArgumentError(absl::StrCat("colors must be [m, ", channels,
                                                       "], have shape ", given.shape().ToString()));
      }
      for (int64_t i = 0; i < given.dim(0); ++i) {
        const float* const row = given.data<float>() + i * given.dim(1);
        colors.insert(colors.end(), row, row + channels);
      }
    } else {
      for (const auto& color : kColors) colors.insert(colors.end(), color, color + channels);
      // Frames in grey images are white.
      if (channels == 1) std::fill(colors.begin(), colors.end(), 1.0f);
    }
    return colors;
  }

  // The pixel at a share of the size. What lies beyond an edge, and NaN, is just beyond it.
  static int64_t Coordinate(float share, int64_t size) {
    const float at = share * (size - 1);
    if (!(at > -1)) return -1;
    return at < size ? static_cast<int64_t>(at) : size;
  }

  template <typename T>
  static void Draw(const float* box, const float* color, const Tensor& images, T* pixels) {
    const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
    const int64_t top = Coordinate(box[0], height);
    const int64_t left = Coordinate(box[1], width);
    const int64_t bottom = Coordinate(box[2], height);
    const int64_t right = Coordinate(box[3], width);
    if (top > bottom || left > right || top >= height || bottom < 0 || left >= width || right < 0) {
      return;
    }
    auto set = [&](int64_t y, int64_t x) {
      for (int64_t c = 0; c < channels; ++c) {
        pixels[(y * width + x) * channels + c] = static_cast<T>(color[c]);
      }
    };
    for (int64_t x = std::max<int64_t>(left, 0); x <= std::min(right, width - 1); ++x) {
      if (top >= 0) set(top, x);
      if (bottom < height) set(bottom, x);
    }
    for (int64_t y = std::max<int64_t>(top, 0); y <= std::min(bottom, height - 1); ++y) {
      if (left >= 0) set(y, left);
      if (right < width) set(y, right);
    }
  }
};
REGISTER_KERNEL("DrawBoundingBoxes", kCpu, DrawBoxesKernel);
REGISTER_KERNEL("DrawBoundingBoxesV2", kCpu, DrawBoxesKernel);

}  // namespace
}  // namespace tessera

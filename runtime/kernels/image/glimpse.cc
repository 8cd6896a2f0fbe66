// Windows of images at given places: ExtractGlimpse, ExtractGlimpseV2.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/random/simple_random.h"

namespace tessera {
namespace {

// What lies outside of the image is filled with.
enum class Noise { kZero, kUniform, kGaussian };

Noise ReadNoise(const KernelBuild& build) {
  const std::string noise = build.attr<std::string>("noise");
  const bool is_uniform = build.attr<bool>("uniform_noise");
  if (is_uniform && noise != "uniform" && !noise.empty()) {
    build.Fail(absl::InvalidArgumentError(
        "The uniform_noise and noise could not be specified at the same time"));
  }
  if (noise == "zero") return Noise::kZero;
  if (noise == "gaussian") return Noise::kGaussian;
  if (noise == "uniform") return Noise::kUniform;
  if (!noise.empty()) {
    build.Fail(absl::InvalidArgumentError(
        absl::StrCat("the noise '", noise, "' should be uniform, gaussian, or zero")));
  }
  return is_uniform ? Noise::kUniform : Noise::kGaussian;
}

// Where a glimpse begins along one dimension. `version` tells which of the two formulas counts.
struct GlimpsePlace {
  int version;
  bool normalized, centered;

  int64_t Begin(float offset, int64_t image, int64_t glimpse) const {
    const auto size = static_cast<float>(image);
    if (normalized) offset *= size;
    if (version == 1) {
      if (centered) offset = offset / 2.0f + size / 2.0f;
      offset -= static_cast<float>(glimpse) / 2.0f;
    } else if (centered) {
      offset = normalized ? offset / 2.0f + size / 2.0f - static_cast<float>(glimpse) / 2.0f
                          : offset + size / 2.0f;
    }
    // Far outside is all the same, and an int64 must hold it.
    constexpr float kFar = 1e15f;
    return static_cast<int64_t>(std::isnan(offset) ? kFar : std::clamp(offset, -kFar, kFar));
  }
};

// The part of a glimpse that lies in the image along one dimension.
struct Overlap {
  Overlap(int64_t begin, int64_t image, int64_t glimpse)
      : source(std::max<int64_t>(begin, 0)),
        target(std::max<int64_t>(-begin, 0)),
        count(std::max<int64_t>(0, std::min(image - source, glimpse - target))) {
    // As TensorFlow, which puts what is left of the image at the end of the glimpse.
    if (begin < 0) count = std::min(image, std::max<int64_t>(0, glimpse + begin));
  }
  int64_t source, target, count;
};

// Inputs: images [batch, height, width, channels], the size of glimpses, and their places [batch,
// 2] as (y, x). Errors: INVALID_ARGUMENT for other shapes, and negative sizes.
template <int kVersion>
class ExtractGlimpseKernel : public OpKernel {
 public:
  explicit ExtractGlimpseKernel(const KernelBuild& build)
      : place_{kVersion, build.attr<bool>("normalized"), build.attr<bool>("centered")},
        noise_(ReadNoise(build)) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    const Tensor& offsets = ctx.input(2);
    if (images.rank() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be 4-dimensional, has shape ", images.shape().ToString()));
    }
    if (ctx.input(1).shape() != Shape{2}) {
      return absl::InvalidArgumentError(
          absl::StrCat("size must have two elements, has shape ", ctx.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const IndexVector size, ReadIndexVector(ctx.input(1), "size"));
    if (size[0] < 0 || size[1] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the size of glimpses must not be negative, is ", size[0], " x ", size[1]));
    }
    if (offsets.shape() != Shape{images.dim(0), 2}) {
      return absl::InvalidArgumentError(absl::StrCat("offsets must have shape [", images.dim(0),
                                                     ",2], have ", offsets.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({images.dim(0), size[0], size[1], images.dim(3)}));
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    if (y->num_elements() == 0) return absl::OkStatus();
    for (int64_t b = 0; b < images.dim(0); ++b) {
      const float* const offset = offsets.data<float>() + 2 * b;
      const Overlap rows(place_.Begin(offset[0], images.dim(1), size[0]), images.dim(1), size[0]);
      const Overlap columns(place_.Begin(offset[1], images.dim(2), size[1]), images.dim(2),
                            size[1]);
      if (rows.count < size[0] || columns.count < size[1]) FillNoise(images, b, y);
      CopyOverlap(images, b, rows, columns, y);
    }
    return absl::OkStatus();
  }

 private:
  static void CopyOverlap(const Tensor& images, int64_t b, const Overlap& rows,
                          const Overlap& columns, Tensor* y) {
    const int64_t channels = images.dim(3);
    for (int64_t r = 0; r < rows.count; ++r) {
      const float* const from =
          images.data<float>() +
          ((b * images.dim(1) + rows.source + r) * images.dim(2) + columns.source) * channels;
      float* const to = y->data<float>() +
                        ((b * y->dim(1) + rows.target + r) * y->dim(2) + columns.target) * channels;
      std::copy_n(from, columns.count * channels, to);
    }
  }

  // Noise has the range of the image, or its mean and deviation.
  void FillNoise(const Tensor& images, int64_t b, Tensor* y) const {
    const int64_t count = y->num_elements() / y->dim(0);
    float* const to = y->data<float>() + b * count;
    const int64_t pixels = images.num_elements() / images.dim(0);
    if (noise_ == Noise::kZero || pixels == 0) {
      std::fill_n(to, count, 0.0f);
      return;
    }
    const float* const image = images.data<float>() + b * pixels;
    SimpleRandom random{RandomlySeeded()};
    if (noise_ == Noise::kUniform) {
      const auto [low, high] = std::minmax_element(image, image + pixels);
      for (int64_t i = 0; i < count; ++i) to[i] = *low + (*high - *low) * random.Float();
      return;
    }
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < pixels; ++i) {
      sum += image[i];
      squares += static_cast<double>(image[i]) * image[i];
    }
    const double mean = sum / static_cast<double>(pixels);
    const double deviation =
        std::sqrt(std::max(0.0, squares / static_cast<double>(pixels) - mean * mean));
    for (int64_t i = 0; i < count; ++i) {
      // Box and Muller's transform.
      const double radius = std::sqrt(-2 * std::log(1 - random.Double()));
      const double normal = radius * std::cos(2 * M_PI * random.Double());
      to[i] = static_cast<float>(mean + deviation * normal);
    }
  }

  const GlimpsePlace place_;
  const Noise noise_;
};
REGISTER_KERNEL("ExtractGlimpse", kCpu, ExtractGlimpseKernel<1>);
REGISTER_KERNEL("ExtractGlimpseV2", kCpu, ExtractGlimpseKernel<2>);

}  // namespace
}  // namespace tessera

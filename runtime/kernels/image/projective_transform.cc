// Images seen through a projection: ImageProjectiveTransformV2 and V3.
#include <algorithm>
#include <cmath>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/x86_convert.h"

namespace tessera {
namespace {

enum class Fill { kConstant, kReflect, kWrap, kNearest };

// Where a coordinate beyond the image lies in it.
float Map(float at, int64_t size, Fill fill) {
  const float length = static_cast<float>(size);
  switch (fill) {
    case Fill::kConstant:
      return at;
    case Fill::kNearest:
      return std::clamp(at, 0.0f, length - 1);
    case Fill::kReflect:  // dcba|abcd|dcba
      if (size <= 1) {
        at = 0;
      } else if (at < 0) {
        at += 2 * length * std::trunc(-at / (2 * length));
        at = at < -length ? at + 2 * length : -at - 1;
      } else if (at > length - 1) {
        at -= 2 * length * std::trunc(at / (2 * length));
        if (at >= length) at = 2 * length - at - 1;
      }
      break;
    case Fill::kWrap:  // abcd|abcd|abcd
      if (size <= 1) {
        at = 0;
      } else if (at < 0) {
        at += length * (std::trunc(-at / (length - 1)) + 1);
      } else if (at > length - 1) {
        at -= length * std::trunc(at / (length - 1));
      }
      break;
  }
  return std::clamp(at, 0.0f, length - 1);
}

// Output pixel (x, y) shows the input at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) with
// k = c0 x + c1 y + 1; one row [a0, a1, a2, b0, b1, b2, c0, c1] for all images or one for each.
// Errors: INVALID_ARGUMENT for other shapes, or an unknown interpolation or fill mode.
class ProjectiveTransformKernel : public OpKernel {
 public:
  explicit ProjectiveTransformKernel(const KernelBuild& build) {
    const std::string interpolation = build.attr<std::string>("interpolation");
    nearest_ = interpolation == "NEAREST";
    if (!nearest_ && interpolation != "BILINEAR") {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("interpolation must be 'NEAREST' or 'BILINEAR', is '", interpolation, "'")));
    }
    const std::string mode = build.attr<std::string>("fill_mode");
    fill_ = mode == "REFLECT"   ? Fill::kReflect
            : mode == "WRAP"    ? Fill::kWrap
            : mode == "NEAREST" ? Fill::kNearest
                                : Fill::kConstant;
    if (fill_ == Fill::kConstant && mode != "CONSTANT") {
      build.Fail(absl::InvalidArgumentError(absl::StrCat(
          "fill_mode must be 'CONSTANT', 'REFLECT', 'WRAP' or 'NEAREST', is '", mode, "'")));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    const Tensor& transforms = ctx.input(1);
    if (images.rank() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("images must be [batch, height, width, channels], have shape ",
                       images.shape().ToString()));
    }
    if (!transforms.shape().IsMatrix() || transforms.dim(1) != 8 ||
        (transforms.dim(0) != 1 && transforms.dim(0) != images.dim(0))) {
      return absl::InvalidArgumentError(absl::StrCat("transforms must be [1 or ", images.dim(0),
                                                     ", 8], have shape ",
                                                     transforms.shape().ToString()));
    }
    if (!(ctx.input(2).shape() == Shape{2})) {
      return absl::InvalidArgumentError("'output_shape' must be [height, width]");
    }
    ASSIGN_OR_RETURN(const IndexVector size, ReadIndexVector(ctx.input(2), "output_shape"));
    if (size[0] <= 0 || size[1] <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'output_shape' must be positive, is [", size[0], ", ", size[1], "]"));
    }
    float outside = 0;
    if (ctx.num_inputs() > 3) {
      if (!ctx.input(3).shape().IsScalar()) {
        return absl::InvalidArgumentError(absl::StrCat("'fill_value' must be a scalar, has shape ",
                                                       ctx.input(3).shape().ToString()));
      }
      outside = ctx.input(3).scalar<float>();
    }
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({images.dim(0), size[0], size[1], images.dim(3)}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    return VisitRealType(images.dtype(), [&]<typename T>() {
      const int64_t row_size = size[1] * images.dim(3);
      ctx.ParallelFor(images.dim(0) * size[0], 20.0 * row_size, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t image = i / size[0];
          const float* const t =
              transforms.data<float>() + (transforms.dim(0) == 1 ? 0 : image * 8);
          Row(images, image, t, i % size[0], size[1], ConvertAsX86<T>(outside),
              out->data<T>() + i * row_size);
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  template <typename T>
  void Row(const Tensor& images, int64_t image, const float* t, int64_t row, int64_t width_out,
           T outside, T* to) const {
    const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
    const T* const pixels = images.data<T>() + image * height * width * channels;
    auto at = [&](int64_t y, int64_t x, int64_t c) {
      const bool inside = y >= 0 && y < height && x >= 0 && x < width;
      return inside ? pixels[(y * width + x) * channels + c] : outside;
    };
    const float out_y = static_cast<float>(row);
    for (int64_t column = 0; column < width_out; ++column, to += channels) {
      const float out_x = static_cast<float>(column);
      const float k = t[6] * out_x + t[7] * out_y + 1;
      if (k == 0) {
        std::fill_n(to, channels, outside);
        continue;
      }
      const float x = Map((t[0] * out_x + t[1] * out_y + t[2]) / k, width, fill_);
      const float y = Map((t[3] * out_x + t[4] * out_y + t[5]) / k, height, fill_);
      // Far outside, or no number: beyond what an index can hold.
      if (!(std::abs(x) < 1e9f && std::abs(y) < 1e9f)) {
        std::fill_n(to, channels, outside);
        continue;
      }
      const auto left = static_cast<int64_t>(nearest_ ? std::round(x) : std::floor(x));
      const auto top = static_cast<int64_t>(nearest_ ? std::round(y) : std::floor(y));
      // Rounded as TensorFlow rounds: doubles are interpolated in float too, and show it.
      const float right_part = x - static_cast<float>(left);
      const float left_part = static_cast<float>(left) + 1 - x;
      const float bottom_part = y - static_cast<float>(top);
      const float top_part = static_cast<float>(top) + 1 - y;
      for (int64_t c = 0; c < channels; ++c) {
        if (nearest_) {
          to[c] = at(top, left, c);
          continue;
        }
        auto value = [&](int64_t v, int64_t h) { return static_cast<float>(at(v, h, c)); };
        const float above = left_part * value(top, left) + right_part * value(top, left + 1);
        const float below =
            left_part * value(top + 1, left) + right_part * value(top + 1, left + 1);
        to[c] = ConvertAsX86<T>(top_part * above + bottom_part * below);
      }
    }
  }

  bool nearest_ = false;
  Fill fill_ = Fill::kConstant;
};
REGISTER_KERNEL("ImageProjectiveTransformV2", kCpu, ProjectiveTransformKernel)
    .HostMemory("output_shape");
REGISTER_KERNEL("ImageProjectiveTransformV3", kCpu, ProjectiveTransformKernel)
    .HostMemory("output_shape")
    .HostMemory("fill_value");

}  // namespace
}  // namespace tessera

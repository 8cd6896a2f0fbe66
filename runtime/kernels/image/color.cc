// Colours: RGBToHSV, HSVToRGB, AdjustHue, AdjustSaturation, AdjustContrastv2.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// In C = float or double, in which all is computed. Hue, saturation and value lie in [0, 1].
template <typename C>
void RgbToHsv(const C* rgb, C* hsv) {
  const C r = rgb[0], g = rgb[1], b = rgb[2];
  const C value = std::max(std::max(r, g), b), range = value - std::min(std::min(r, g), b);
  const C norm = 1 / (6 * range);
  const C turned = r == value   ? norm * (g - b)
                   : g == value ? norm * (b - r) + C(2) / 6
                                : norm * (r - g) + C(4) / 6;
  hsv[0] = range > 0 ? (turned < 0 ? turned + 1 : turned) : 0;
  hsv[1] = value > 0 ? range / value : 0;
  hsv[2] = value;
}

template <typename C>
void HsvToRgb(const C* hsv, C* rgb) {
  const C sixths = hsv[0] * 6, saturation = hsv[1], value = hsv[2];
  const C full[3] = {std::abs(sixths - 3) - 1, 2 - std::abs(sixths - 2), 2 - std::abs(sixths - 4)};
  for (int c = 0; c < 3; ++c) {
    const C part = std::clamp<C>(full[c], 0, 1);
    rgb[c] = ((1 - saturation) + saturation * part) * value;
  }
}

// Turns the hue by `delta` of a full turn. Unlike by way of HSV, values below 0 stay what they are.
template <typename C>
void TurnHue(const C* rgb, C delta, C* out) {
  const C least = std::min({rgb[0], rgb[1], rgb[2]}), most = std::max({rgb[0], rgb[1], rgb[2]});
  C sixths = 0;
  if (most > least) {
    C hsv[3];
    const C shifted[3] = {rgb[0] - least, rgb[1] - least, rgb[2] - least};
    RgbToHsv(shifted, hsv);
    sixths = hsv[0] * 6;
  }
  sixths += delta * 6;
  sixths -= 6 * std::floor(sixths / 6);
  const C turned[3] = {sixths / 6, 1, most - least};
  HsvToRgb(turned, out);
  for (int c = 0; c < 3; ++c) out[c] += least;
}

template <typename C>
void ScaleSaturation(const C* rgb, C scale, C* out) {
  C hsv[3];
  RgbToHsv(rgb, hsv);
  hsv[1] = std::clamp<C>(hsv[1] * scale, 0, 1);
  HsvToRgb(hsv, out);
}

// Applies a function of three channels, and perhaps a number, to each pixel.
// Errors: INVALID_ARGUMENT unless the last dimension is 3, and the number, if any, a scalar;
// FAILED_PRECONDITION for a conversion of another number of channels.
class PixelKernel : public OpKernel {
 public:
  explicit PixelKernel(const KernelBuild& build)
      : op_(build.op().name), least_rank_(build.num_inputs() > 1 ? 3 : 1) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.rank() < least_rank_ || x.dim(x.rank() - 1) != 3) {
      const std::string message =
          absl::StrCat("the last dimension of at least ", least_rank_,
                       " must be 3 channels, the shape is ", x.shape().ToString());
      // The code that TensorFlow has for each.
      return ctx.num_inputs() == 1 && x.rank() > 0 ? absl::FailedPreconditionError(message)
                                                   : absl::InvalidArgumentError(message);
    }
    float amount = 0;
    if (ctx.num_inputs() > 1) {
      if (!ctx.input(1).shape().IsScalar()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the second input must be a scalar, has shape ", ctx.input(1).shape().ToString()));
      }
      amount = ctx.input(1).scalar<float>();
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    return VisitRealType(x.dtype(), [&]<typename T>() {
      const T* const from = x.data<T>();
      T* const to = y->data<T>();
      ctx.ParallelFor(x.num_elements() / 3, 5, [&](int64_t begin, int64_t end) {
        Convert<T>(amount, from + begin * 3, end - begin, to + begin * 3);
      });
      return absl::OkStatus();
    });
  }

 private:
  template <typename T>
  void Convert(float amount, const T* from, int64_t count, T* to) const {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto each = [=](const auto& apply) {
#pragma GCC ivdep
      for (int64_t i = 0; i < count * 3; i += 3) {
        const C in[3] = {static_cast<C>(from[i]), static_cast<C>(from[i + 1]),
                         static_cast<C>(from[i + 2])};
        C out[3];
        apply(in, out);
        to[i] = static_cast<T>(out[0]);
        to[i + 1] = static_cast<T>(out[1]);
        to[i + 2] = static_cast<T>(out[2]);
      }
    };
    switch (op_.back()) {
      case 'V':
        return each([](const C* in, C* out) { RgbToHsv(in, out); });
      case 'B':
        return each([](const C* in, C* out) { HsvToRgb(in, out); });
      case 'e':
        return each([amount](const C* in, C* out) { TurnHue<C>(in, amount, out); });
      default:
        return each([amount](const C* in, C* out) { ScaleSaturation<C>(in, amount, out); });
    }
  }

  const std::string op_;
  const int least_rank_;
};
REGISTER_KERNEL("RGBToHSV", kCpu, PixelKernel);
REGISTER_KERNEL("HSVToRGB", kCpu, PixelKernel);
REGISTER_KERNEL("AdjustHue", kCpu, PixelKernel).HostMemory("delta");
REGISTER_KERNEL("AdjustSaturation", kCpu, PixelKernel).HostMemory("scale");

constexpr int64_t kPixelsAtOnce = 64;

// Scales what differs from the mean of each channel of each image.
// Errors: INVALID_ARGUMENT for less than three dimensions, or a factor that is no scalar.
class AdjustContrastKernel : public OpKernel {
 public:
  explicit AdjustContrastKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.rank() < 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "images must have at least 3 dimensions, have shape ", x.shape().ToString()));
    }
    if (!ctx.input(1).shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'contrast_factor' must be a scalar, has shape ", ctx.input(1).shape().ToString()));
    }
    const float factor = ctx.input(1).scalar<float>();
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    if (x.num_elements() == 0) return absl::OkStatus();
    const int64_t channels = x.dim(x.rank() - 1);
    const int64_t pixels = x.dim(x.rank() - 2) * x.dim(x.rank() - 3);
    return VisitRealType(x.dtype(), [&]<typename T>() {
      const int64_t images = x.num_elements() / pixels / channels;
      ctx.ParallelFor(images, 3.0 * pixels * channels, [&](int64_t begin, int64_t end) {
        // Some pixels at once, so that the loops over their channels are long enough for vectors.
        const int64_t some = std::min(kPixelsAtOnce, pixels), size = some * channels;
        std::vector<double> sums(size);
        std::vector<float> means(size);
        for (int64_t i = begin; i < end; ++i) {
          const T* const from = x.data<T>() + i * pixels * channels;
          T* const to = y->data<T>() + i * pixels * channels;
          std::fill(sums.begin(), sums.end(), 0.0);
          for (int64_t k = 0; k < pixels * channels; k += size) {
            const int64_t count = std::min(size, pixels * channels - k);
#pragma GCC ivdep
            for (int64_t j = 0; j < count; ++j) sums[j] += static_cast<double>(from[k + j]);
          }
          for (int64_t j = channels; j < size; ++j) sums[j % channels] += sums[j];
          for (int64_t j = 0; j < size; ++j) {
            means[j] = static_cast<float>(sums[j % channels] / static_cast<double>(pixels));
          }
          const float* const mean = means.data();
          for (int64_t k = 0; k < pixels * channels; k += size) {
            const int64_t count = std::min(size, pixels * channels - k);
#pragma GCC ivdep
            for (int64_t j = 0; j < count; ++j) {
              to[k + j] =
                  static_cast<T>((static_cast<float>(from[k + j]) - mean[j]) * factor + mean[j]);
            }
          }
        }
      });
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("AdjustContrastv2", kCpu, AdjustContrastKernel).HostMemory("contrast_factor");

}  // namespace
}  // namespace tessera

// Colours: RGBToHSV, HSVToRGB, AdjustHue, AdjustSaturation, AdjustContrastv2.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/pixel_planes.h"

namespace tessera {
namespace {

// A colour in C, in which all is computed: float, double, or a type of 16 bits, which rounds each
// step as TensorFlow's conversions do. The functions have no branches, so that loops over pixels
// vectorise. Hue, saturation and value lie in [0, 1].
template <typename C>
struct Pixel {
  C c0, c1, c2;
};

template <typename C>
[[gnu::always_inline]] inline C Most(Pixel<C> p) {
  const C most = p.c0 < p.c1 ? p.c1 : p.c0;
  return most < p.c2 ? p.c2 : most;
}
template <typename C>
[[gnu::always_inline]] inline C Least(Pixel<C> p) {
  const C least = p.c1 < p.c0 ? p.c1 : p.c0;
  return p.c2 < least ? p.c2 : least;
}

template <typename C>
[[gnu::always_inline]] inline Pixel<C> RgbToHsv(Pixel<C> rgb) {
  const C value = Most(rgb), range = value - Least(rgb);
  const C norm = C(1) / range * (C(1) / C(6));
  const C from_red = norm * (rgb.c1 - rgb.c2);
  const C from_green = norm * (rgb.c2 - rgb.c0) + C(2) / C(6);
  const C from_blue = norm * (rgb.c0 - rgb.c1) + C(4) / C(6);
  const C other = rgb.c1 == value ? from_green : from_blue;
  const C turned = rgb.c0 == value ? from_red : other;
  const C hue = turned < C(0) ? turned + C(1) : turned;
  const C saturation = range / value;
  return {range > C(0) ? hue : C(0), value > C(0) ? saturation : C(0), value};
}

template <typename C>
[[gnu::always_inline]] inline C Clamped(C x) {
  const C low = x < C(0) ? C(0) : x;
  return C(1) < low ? C(1) : low;
}

template <typename C>
[[gnu::always_inline]] inline C Distance(C x, C y) {
  return x < y ? y - x : x - y;
}

template <typename C>
[[gnu::always_inline]] inline Pixel<C> HsvToRgb(Pixel<C> hsv) {
  const C sixths = hsv.c0 * C(6), saturation = hsv.c1, value = hsv.c2, grey = C(1) - saturation;
  return {(grey + saturation * Clamped(Distance(sixths, C(3)) - C(1))) * value,
          (grey + saturation * Clamped(C(2) - Distance(sixths, C(2)))) * value,
          (grey + saturation * Clamped(C(2) - Distance(sixths, C(4)))) * value};
}

// Turns the hue by `delta` of a full turn. Unlike by way of HSV, values below 0 stay what they are.
template <typename C>
[[gnu::always_inline]] inline Pixel<C> TurnHue(Pixel<C> rgb, C delta) {
  const C least = Least(rgb), most = Most(rgb);
  const C hue = RgbToHsv<C>({rgb.c0 - least, rgb.c1 - least, rgb.c2 - least}).c0 * 6;
  C sixths = (most > least ? hue : 0) + delta * 6;
  sixths -= 6 * std::floor(sixths / 6);
  const Pixel<C> turned = HsvToRgb<C>({sixths / 6, 1, most - least});
  return {turned.c0 + least, turned.c1 + least, turned.c2 + least};
}

template <typename C>
[[gnu::always_inline]] inline Pixel<C> ScaleSaturation(Pixel<C> rgb, C scale) {
  const Pixel<C> hsv = RgbToHsv(rgb);
  return HsvToRgb<C>({hsv.c0, Clamped(hsv.c1 * scale), hsv.c2});
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
  // Applies a function to pixels in C, in blocks with their channels apart.
  template <typename C, typename T, typename Apply>
  static void ForEach(const T* from, int64_t count, T* to, const Apply& apply) {
    constexpr int64_t kBlock = 64, kPlaneBytes = kBlock * sizeof(T);
    static const PixelLoop split = SplitPixelsLoop(3, sizeof(T));
    static const PixelLoop join = JoinPixelsLoop(3, sizeof(T));
    T planes[3][kBlock] = {};
    for (int64_t first = 0; first < count; first += kBlock) {
      const int64_t pixels = std::min(kBlock, count - first);
      split(pixels, reinterpret_cast<const char*>(from + first * 3),
            reinterpret_cast<char*>(planes), kPlaneBytes);
#pragma GCC ivdep
      for (int64_t i = 0; i < kBlock; ++i) {
        const Pixel<C> pixel =
            apply(Pixel<C>{static_cast<C>(planes[0][i]), static_cast<C>(planes[1][i]),
                           static_cast<C>(planes[2][i])});
        planes[0][i] = static_cast<T>(pixel.c0);
        planes[1][i] = static_cast<T>(pixel.c1);
        planes[2][i] = static_cast<T>(pixel.c2);
      }
      join(pixels, reinterpret_cast<const char*>(planes), reinterpret_cast<char*>(to + first * 3),
           kPlaneBytes);
    }
  }

  template <typename T>
  void Convert(float amount, const T* from, int64_t count, T* to) const {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    using Step = std::conditional_t<std::is_integral_v<T>, float, T>;  // no image has integers
    const C number = amount;
    switch (op_.back()) {
      case 'V':
        return ForEach<Step>(
            from, count, to,
            [](Pixel<Step> pixel) __attribute__((always_inline)) { return RgbToHsv(pixel); });
      case 'B':
        return ForEach<Step>(
            from, count, to,
            [](Pixel<Step> pixel) __attribute__((always_inline)) { return HsvToRgb(pixel); });
      case 'e':
        return ForEach<C>(
            from, count, to, [number](Pixel<C> pixel) __attribute__((always_inline)) {
              return TurnHue(pixel, number);
            });
      default:
        return ForEach<C>(
            from, count, to, [number](Pixel<C> pixel) __attribute__((always_inline)) {
              return ScaleSaturation(pixel, number);
            });
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

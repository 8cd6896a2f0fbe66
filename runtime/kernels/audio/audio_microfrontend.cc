// AudioMicrofrontend: the features of speech that models for microcontrollers are trained on.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/audio/micro_frontend.h"

namespace tessera {
namespace {

// Larger ones describe no sound, but take gigabytes.
constexpr int64_t kMostSamples = int64_t{1} << 24;
constexpr int64_t kMostChannels = int64_t{1} << 16;

// From samples to [frames / frame_stride, (left_context + 1 + right_context) * num_channels]: each
// row has the features of a frame and of those around it, and zeros or the outermost frame again
// where there are none. Errors: INVALID_ARGUMENT unless the audio is a vector; INTERNAL, as
// TensorFlow has it, for a band that does not lie within the spectrum.
class AudioMicrofrontendKernel : public OpKernel {
 public:
  explicit AudioMicrofrontendKernel(const KernelBuild& build)
      : step_(Samples(build, "window_step")),
        left_(build.attr<int64_t>("left_context")),
        right_(build.attr<int64_t>("right_context")),
        stride_(build.attr<int64_t>("frame_stride")),
        zero_padding_(build.attr<bool>("zero_padding")),
        scale_(build.attr<int64_t>("out_scale")) {
    options_.sample_rate = build.attr<int64_t>("sample_rate");
    options_.window_samples = Samples(build, "window_size");
    options_.num_channels = build.attr<int64_t>("num_channels");
    options_.lower_band_limit = build.attr<float>("lower_band_limit");
    options_.upper_band_limit = build.attr<float>("upper_band_limit");
    options_.smoothing_bits = build.attr<int64_t>("smoothing_bits");
    options_.even_smoothing = build.attr<float>("even_smoothing");
    options_.odd_smoothing = build.attr<float>("odd_smoothing");
    options_.min_signal_remaining = build.attr<float>("min_signal_remaining");
    options_.enable_pcan = build.attr<bool>("enable_pcan");
    options_.pcan_strength = build.attr<float>("pcan_strength");
    options_.pcan_offset = build.attr<float>("pcan_offset");
    options_.gain_bits = build.attr<int64_t>("gain_bits");
    options_.enable_log = build.attr<bool>("enable_log");
    options_.scale_shift = build.attr<int64_t>("scale_shift");
    const int64_t columns = left_ + right_ + 1;
    if (step_ < 1 || stride_ < 1 || options_.num_channels < 0 ||
        options_.num_channels > kMostChannels || columns < 0 || left_ < -kMostChannels ||
        right_ < -kMostChannels || columns > kMostChannels) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("window_step, frame_stride, num_channels and contexts must be positive and "
                       "moderate; they ",
                       "are ", step_, " samples, ", stride_, ", ", options_.num_channels, ", ",
                       left_, " and ", right_)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& audio = ctx.input(0);
    if (audio.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("audio must be a vector, has shape ", audio.shape().ToString()));
    }
    if (options_.window_samples < 2) {
      return absl::InternalError("windows must have at least two samples");
    }
    MicroFrontend frontend(options_);
    if (!frontend.is_valid()) {
      return absl::InternalError(absl::StrCat("the band from ", options_.lower_band_limit, " to ",
                                              options_.upper_band_limit,
                                              " Hz does not lie within the spectrum"));
    }
    std::vector<std::vector<uint16_t>> frames;
    for (int64_t begin = 0; begin + options_.window_samples <= audio.num_elements();
         begin += step_) {
      frames.push_back(frontend(audio.data<int16_t>() + begin));
    }
    const auto count = static_cast<int64_t>(frames.size());
    const int64_t width = (left_ + right_ + 1) * options_.num_channels;
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.AllocateOutput(0, Shape{(count + stride_ - 1) / stride_, width}));
    if (output->dtype() == DType::kFloat) {
      WriteRows(frames, output->data<float>());
    } else if (scale_ != 0 || frames.empty()) {
      WriteRows(frames, output->data<uint16_t>());
    } else {
      return absl::InvalidArgumentError("out_scale is 0, by which integers cannot be divided");
    }
    return absl::OkStatus();
  }

 private:
  // A number of milliseconds as samples.
  static int64_t Samples(const KernelBuild& build, const char* attr) {
    const auto rate = build.attr<int64_t>("sample_rate"), duration = build.attr<int64_t>(attr);
    if (rate >= 1 && duration >= 0 && rate < kMostSamples && duration < kMostSamples &&
        rate * duration / 1000 < kMostSamples) {
      return rate * duration / 1000;
    }
    build.Fail(absl::InvalidArgumentError(absl::StrCat(
        attr, " = ", duration, " ms at a sample rate of ", rate, " Hz is not possible")));
    return 1;
  }

  template <typename T>
  void WriteRows(const std::vector<std::vector<uint16_t>>& frames, T* to) const {
    const auto count = static_cast<int64_t>(frames.size());
    for (int64_t frame = 0; frame < count; frame += stride_) {
      for (int64_t i = frame - left_; i <= frame + right_; ++i) {
        const bool is_outside = i < 0 || i >= count;
        for (const uint16_t value : frames[std::clamp<int64_t>(i, 0, count - 1)]) {
          *to++ = is_outside && zero_padding_
                      ? T(0)
                      : static_cast<T>(static_cast<T>(value) / Divisor<T>());
        }
      }
    }
  }

  // Integers are divided as such, rounding towards zero.
  template <typename T>
  auto Divisor() const {
    return static_cast<std::conditional_t<std::is_same_v<T, float>, float, int64_t>>(scale_);
  }

  MicroFrontendOptions options_;
  const int64_t step_, left_, right_, stride_;
  const bool zero_padding_;
  const int64_t scale_;
};
REGISTER_KERNEL("AudioMicrofrontend", kCpu, AudioMicrofrontendKernel);

}  // namespace
}  // namespace tessera

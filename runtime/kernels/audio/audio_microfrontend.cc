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

// Returns a duration in milliseconds as a number of samples: -1 for a negative one, kMostSamples
// for one that is longer.
int64_t SamplesOf(int64_t milliseconds, int64_t rate) {
  int64_t product = 0;
  const bool overflows = __builtin_mul_overflow(milliseconds, rate, &product);
  if ((milliseconds < 0) != (rate < 0) && milliseconds != 0 && rate != 0) return -1;
  return overflows ? kMostSamples : std::min(product / 1000, kMostSamples);
}

// From samples to [frames / frame_stride, (left_context + 1 + right_context) * num_channels]: each
// row has the features of a frame and of those around it, and zeros or the outermost frame again
// where there are none. Attributes count only where a frame or a row needs them: audio that is
// shorter than a window gives no rows, whatever the step and the stride are.
// Errors: INVALID_ARGUMENT unless the audio is a vector, and for attributes by which TensorFlow's
// kernel divides by zero or leaves its memory; INTERNAL, as TensorFlow has it, for a band that does
// not lie within the spectrum, windows of less than two samples, and a negative number of channels.
class AudioMicrofrontendKernel : public OpKernel {
 public:
  explicit AudioMicrofrontendKernel(const KernelBuild& build)
      : step_(SamplesOf(build.attr<int64_t>("window_step"), build.attr<int64_t>("sample_rate"))),
        left_(build.attr<int64_t>("left_context")),
        right_(build.attr<int64_t>("right_context")),
        stride_(build.attr<int64_t>("frame_stride")),
        zero_padding_(build.attr<bool>("zero_padding")),
        scale_(build.attr<int64_t>("out_scale")) {
    options_.sample_rate = build.attr<int64_t>("sample_rate");
    options_.window_samples = SamplesOf(build.attr<int64_t>("window_size"), options_.sample_rate);
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
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& audio = ctx.input(0);
    if (audio.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("audio must be a vector, has shape ", audio.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int64_t count, CountFrames(audio.num_elements()));
    ASSIGN_OR_RETURN(const int64_t rows, CountRows(count));
    ASSIGN_OR_RETURN(const int64_t width, Width());
    if (options_.window_samples < 2) {
      return absl::InternalError("windows must have at least two samples");
    }
    if (options_.num_channels < 0) {
      return absl::InternalError(
          absl::StrCat("num_channels must not be negative, is ", options_.num_channels));
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
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{rows, width}));
    if (output->dtype() == DType::kFloat) {
      WriteRows(frames, rows, output->data<float>());
    } else if (scale_ != 0 || output->num_elements() == 0) {
      WriteRows(frames, rows, output->data<uint16_t>());
    } else {
      return absl::InvalidArgumentError("out_scale is 0, by which integers cannot be divided");
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<int64_t> CountFrames(int64_t samples) const {
    const int64_t window = options_.window_samples;
    if (window == kMostSamples || step_ == kMostSamples) {
      return absl::InvalidArgumentError(absl::StrCat("windows and steps of ", kMostSamples,
                                                     " samples and more are not possible"));
    }
    if (window < 0 || samples < window) return 0;
    if (step_ < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("window_step must be at least one sample, is ", step_));
    }
    return (samples - window) / step_ + 1;
  }

  absl::StatusOr<int64_t> CountRows(int64_t frames) const {
    if (frames == 0) return 0;
    if (stride_ > 0) return (frames - 1) / stride_ + 1;
    // A negative stride gives the first frame alone. TensorFlow has room for it only if the stride
    // passes over all frames.
    if (stride_ <= -frames) return 1;
    return absl::InvalidArgumentError(
        absl::StrCat("frame_stride = ", stride_, " is not possible for ", frames, " frames"));
  }

  // Returns the length of a row, which may be 0 for negative contexts and no channels.
  absl::StatusOr<int64_t> Width() const {
    for (const int64_t number : {options_.num_channels, left_, right_}) {
      if (number > kMostChannels || number < -kMostChannels) {
        return absl::InvalidArgumentError(absl::StrCat("num_channels and contexts must be at most ",
                                                       kMostChannels, ", one is ", number));
      }
    }
    const int64_t width = (left_ + 1 + right_) * options_.num_channels;
    if (width >= 0) return width;
    return absl::InvalidArgumentError(absl::StrCat("a row of ", left_, " + 1 + ", right_,
                                                   " frames of ", options_.num_channels,
                                                   " channels has a negative length"));
  }

  template <typename T>
  void WriteRows(const std::vector<std::vector<uint16_t>>& frames, int64_t rows, T* to) const {
    const auto count = static_cast<int64_t>(frames.size());
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t frame = row * stride_;
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

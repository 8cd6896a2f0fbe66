// Spectra of sound over time: AudioSpectrogram, Mfcc.
#include <algorithm>
#include <complex>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/audio/spectral_features.h"
#include "runtime/kernels/primitives/fourier.h"

namespace tessera {
namespace {

// Larger windows hold no sound, but gigabytes.
constexpr int64_t kMaxWindow = int64_t{1} << 26;

// From [samples, channels] to the magnitudes of [channels, frames, frequencies], or their squares.
class AudioSpectrogramKernel : public OpKernel {
 public:
  explicit AudioSpectrogramKernel(const KernelBuild& build)
      : window_size_(build.attr<int64_t>("window_size")),
        stride_(build.attr<int64_t>("stride")),
        squared_(build.attr<bool>("magnitude_squared")),
        transform_(Primitive<FourierTransform>(build)()) {
    if (window_size_ < 2 || window_size_ > kMaxWindow || stride_ < 1) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat("window_size must be in [2, ", kMaxWindow,
                                                         "] and stride positive, they are ",
                                                         window_size_, " and ", stride_)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be 2-dimensional, [samples, channels], has shape ",
                       input.shape().ToString()));
    }
    const int64_t samples = input.dim(0), channels = input.dim(1);
    const int64_t frames = samples < window_size_ ? 0 : 1 + (samples - window_size_) / stride_;
    const int fft_size = NextPowerOfTwo(static_cast<int>(window_size_));
    const int64_t bins = fft_size / 2 + 1;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({channels, frames, bins}));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    const std::vector<double> window = PeriodicHannWindow(static_cast<int>(window_size_));
    // As many frames at a time as take a megabyte or so.
    const int64_t at_once = std::clamp<int64_t>((1 << 16) / fft_size, 16, channels * frames + 16);
    ASSIGN_OR_RETURN(Tensor windowed, ctx.AllocateTemp(DType::kDouble, Shape{at_once, fft_size}));
    ASSIGN_OR_RETURN(Tensor spectra, ctx.AllocateTemp(DType::kComplex128, Shape{at_once, bins}));
    for (int64_t first = 0; first < channels * frames; first += at_once) {
      const int64_t count = std::min(at_once, channels * frames - first);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t frame = first + i;
        const float* const from =
            input.data<float>() + (frame % frames) * stride_ * channels + frame / frames;
        double* const to = windowed.data<double>() + i * fft_size;
        for (int64_t s = 0; s < window_size_; ++s) to[s] = from[s * channels] * window[s];
        std::fill(to + window_size_, to + fft_size, 0.0);
      }
      RETURN_IF_ERROR(Transform(ctx, fft_size, bins, count, windowed, &spectra));
      const auto* const spectrum = spectra.data<std::complex<double>>();
      float* const to = output->data<float>() + first * bins;
      for (int64_t b = 0; b < count * bins; ++b) {
        const float norm = static_cast<float>(std::norm(spectrum[b]));
        to[b] = squared_ ? norm : std::sqrt(norm);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Transform(KernelContext& ctx, int64_t length, int64_t bins, int64_t count,
                         const Tensor& windowed, Tensor* spectra) {
    return transform_->Run(ctx, FourierLines<double>{.kind = FourierKind::kRealToComplex,
                                                     .length = length,
                                                     .count = count,
                                                     .from_offset = LineOffsets::Every(length),
                                                     .to_offset = LineOffsets::Every(bins),
                                                     .from = windowed.data<double>(),
                                                     .to = reinterpret_cast<double*>(
                                                         spectra->data<std::complex<double>>())});
  }

  const int64_t window_size_, stride_;
  const bool squared_;
  const std::unique_ptr<FourierTransform> transform_;
};
REGISTER_KERNEL("AudioSpectrogram", kCpu, AudioSpectrogramKernel);

// From squared magnitudes [channels, frames, frequencies] to [channels, frames, coefficients].
class MfccKernel : public OpKernel {
 public:
  explicit MfccKernel(const KernelBuild& build)
      : lower_(build.attr<float>("lower_frequency_limit")),
        upper_(build.attr<float>("upper_frequency_limit")),
        filters_(build.attr<int64_t>("filterbank_channel_count")),
        coefficients_(build.attr<int64_t>("dct_coefficient_count")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& spectrogram = ctx.input(0);
    const Tensor& sample_rate = ctx.input(1);
    if (spectrogram.rank() != 3 || !sample_rate.shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "spectrogram must be 3-dimensional and sample_rate a scalar, they have shapes ",
          spectrogram.shape().ToString(), " and ", sample_rate.shape().ToString()));
    }
    constexpr int64_t kMax = 4096;  // filters and coefficients that a model may ask for
    const int64_t bins = spectrogram.dim(2);
    const double rate = sample_rate.scalar<int32_t>();
    auto failed = [&] {
      return absl::InvalidArgumentError(
          absl::StrCat("Mfcc initialization failed for ", bins, " frequencies, sample rate ", rate,
                       ", limits ", lower_, " and ", upper_, ", filterbank_channel_count ",
                       filters_, " and dct_coefficient_count ", coefficients_));
    };
    if (filters_ < 1 || filters_ > kMax || coefficients_ < 1 || coefficients_ > kMax ||
        bins > std::numeric_limits<int32_t>::max()) {
      return failed();
    }
    const CepstralCoefficients cepstral(static_cast<int>(bins),
                                        {.sample_rate = rate,
                                         .lower_frequency = lower_,
                                         .upper_frequency = upper_,
                                         .num_filters = static_cast<int>(filters_),
                                         .num_coefficients = static_cast<int>(coefficients_)});
    if (!cepstral.IsValid()) return failed();
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({spectrogram.dim(0), spectrogram.dim(1), coefficients_}));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    const int64_t frames = spectrogram.dim(0) * spectrogram.dim(1);
    for (int64_t i = 0; i < frames; ++i) {
      const std::vector<float> values = cepstral.Of(spectrogram.data<float>() + i * bins);
      std::copy(values.begin(), values.end(), output->data<float>() + i * coefficients_);
    }
    return absl::OkStatus();
  }

 private:
  const float lower_, upper_;
  const int64_t filters_, coefficients_;
};
REGISTER_KERNEL("Mfcc", kCpu, MfccKernel).HostMemory("sample_rate");

}  // namespace
}  // namespace tessera

#include "runtime/kernels/audio/spectral_features.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

double Mel(double hertz) { return 1127 * std::log1p(hertz / 700); }

// Sums below it count as this much, so that they have a logarithm.
constexpr double kFloor = 1e-12;

}  // namespace

CepstralCoefficients::CepstralCoefficients(int num_bins, const Options& options)
    : num_filters_(options.num_filters), num_coefficients_(options.num_coefficients) {
  if (num_bins < 2 || num_filters_ < 1 || num_coefficients_ < 1 ||
      num_coefficients_ > num_filters_ || !(options.sample_rate > 0) ||
      !(options.lower_frequency >= 0) || !(options.upper_frequency > options.lower_frequency)) {
    return;
  }
  const double mel_low = Mel(options.lower_frequency);
  const double spacing = (Mel(options.upper_frequency) - mel_low) / (num_filters_ + 1);
  std::vector<double> centers(num_filters_ + 1);
  for (int i = 0; i <= num_filters_; ++i) centers[i] = mel_low + spacing * (i + 1);
  const double bin_width = 0.5 * options.sample_rate / (num_bins - 1);
  const double last_bin = options.upper_frequency / bin_width;
  if (!(last_bin < num_bins)) return;
  // The constant part of the signal is never counted.
  first_bin_ = static_cast<int>(1.5 + options.lower_frequency / bin_width);
  last_bin_ = static_cast<int>(last_bin);
  filters_.resize(num_bins, -1);
  shares_.resize(num_bins, 0);
  for (int i = first_bin_, filter = 0; i <= last_bin_; ++i) {
    const double mel = Mel(i * bin_width);
    while (filter < num_filters_ && centers[filter] < mel) ++filter;
    filters_[i] = filter - 1;
    const double low = filter > 0 ? centers[filter - 1] : mel_low;
    shares_[i] = (centers[filter] - mel) / (centers[filter] - low);
  }
  const double norm = std::sqrt(2.0 / num_filters_);
  for (int c = 0; c < num_coefficients_; ++c) {
    for (int f = 0; f < num_filters_; ++f) {
      cosines_.push_back(norm * std::cos(c * M_PI / num_filters_ * (f + 0.5)));
    }
  }
  valid_ = true;
}

std::vector<float> CepstralCoefficients::Of(const float* spectrum) const {
  std::vector<double> sums(num_filters_, 0);
  for (int i = first_bin_; i <= last_bin_; ++i) {
    const double magnitude = std::sqrt(static_cast<double>(spectrum[i]));
    const int filter = filters_[i];
    if (filter >= 0) sums[filter] += magnitude * shares_[i];
    if (filter + 1 < num_filters_) sums[filter + 1] += magnitude - magnitude * shares_[i];
  }
  for (double& sum : sums) sum = std::log(std::max(sum, kFloor));
  std::vector<float> coefficients(num_coefficients_);
  for (int c = 0; c < num_coefficients_; ++c) {
    double value = 0;
    for (int f = 0; f < num_filters_; ++f) value += cosines_[c * num_filters_ + f] * sums[f];
    coefficients[c] = static_cast<float>(value);
  }
  return coefficients;
}

int NextPowerOfTwo(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

std::vector<double> PeriodicHannWindow(int size) {
  std::vector<double> window(size);
  for (int i = 0; i < size; ++i) window[i] = 0.5 - 0.5 * std::cos(2 * M_PI * i / size);
  return window;
}

}  // namespace tessera

// Features of sound for recognition: magnitudes of short-time spectra, and cepstral coefficients.
#pragma once

#include <vector>

namespace tessera {

// Mel-frequency cepstral coefficients of one spectrum: triangular filters at equal distances on the
// mel scale, the logarithm of their sums, and a discrete cosine transform (S. Davis, P.
// Mermelstein, Comparison of parametric representations for monosyllabic word recognition, 1980).
class CepstralCoefficients {
 public:
  struct Options {
    double sample_rate;
    double lower_frequency, upper_frequency;  // limits of the filters in hertz
    int num_filters;
    int num_coefficients;
  };

  // `num_bins` is the length of spectra. Check that IsValid() before anything else.
  CepstralCoefficients(int num_bins, const Options& options);

  // False if limits, rates or counts make no filters, or none that the spectrum reaches.
  bool IsValid() const { return valid_; }

  // Takes squared magnitudes.
  std::vector<float> Of(const float* spectrum) const;

 private:
  bool valid_ = false;
  int num_filters_, num_coefficients_;
  int first_bin_ = 0, last_bin_ = -1;
  // For each bin, the filter on whose falling side it lies (-1: below the first), and the share
  // that this filter gets; the next one gets the rest.
  std::vector<int> filters_;
  std::vector<double> shares_;
  std::vector<double> cosines_;  // [num_coefficients, num_filters]
};

// Returns the smallest power of two that is not below `n`. Requires 0 < n <= 2^30.
int NextPowerOfTwo(int n);

// Returns one period of a Hann window of `size` samples.
std::vector<double> PeriodicHannWindow(int size);

}  // namespace tessera

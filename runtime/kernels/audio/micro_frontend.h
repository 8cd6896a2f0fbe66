// Features of speech in integer arithmetic, as models for microcontrollers are trained on them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/kernels/audio/fixed_point_fourier.h"

namespace tessera {

struct MicroFrontendOptions {
  int64_t sample_rate = 16000;
  int64_t window_samples = 400;  // at least 2
  int64_t num_channels = 32;     // not negative
  float lower_band_limit = 125, upper_band_limit = 7500;
  int64_t smoothing_bits = 10;
  float even_smoothing = 0.025f, odd_smoothing = 0.06f, min_signal_remaining = 0.05f;
  bool enable_pcan = false;
  float pcan_strength = 0.95f, pcan_offset = 80;
  int64_t gain_bits = 21;
  bool enable_log = true;
  int64_t scale_shift = 6;
};

// Adds the energies of the frequencies up into channels that are spaced evenly in mel and overlap
// by half. Weights have 12 fractional bits.
class MelChannels {
 public:
  explicit MelChannels(const MicroFrontendOptions& options, int64_t spectrum_size);

  // Returns whether the limits lie within the spectrum.
  bool is_valid() const { return is_valid_; }
  // Returns the square root of each channel's energy, divided by 2^shift.
  std::vector<uint32_t> operator()(const std::vector<FixedPointComplex>& spectrum, int shift) const;

 private:
  // The frequencies between the centres of two channels: they count for the upper one by their
  // weights, and for the lower one by what is left.
  struct Slope {
    int64_t first = 0;
    std::vector<uint64_t> rising, falling;
  };
  std::vector<Slope> slopes_;  // one more than channels
  bool is_valid_ = false;
};

// Turns windows of sound into features: Fourier transform, mel channels, noise reduction against a
// running estimate, per-channel amplitude normalisation (Wang et al., arXiv:1607.05666), logarithm.
// The results are those of TensorFlow's micro frontend, bit for bit. The estimate of the noise goes
// from window to window: one object is used for one sound, by one thread.
class MicroFrontend {
 public:
  explicit MicroFrontend(const MicroFrontendOptions& options);

  bool is_valid() const { return channels_.is_valid(); }
  // Returns the features of the `window_samples` samples that begin here.
  std::vector<uint16_t> operator()(const int16_t* samples);

 private:
  void ReduceNoise(std::vector<uint32_t>* signal);
  void NormalizeAmplitudes(std::vector<uint32_t>* signal) const;
  // Returns 2^gain_bits (x + offset)^-strength for a noise estimate, by the table.
  int16_t Gain(uint32_t noise) const;
  int16_t ExactGain(uint32_t noise) const;
  uint16_t Scaled(uint32_t value) const;

  const MicroFrontendOptions options_;
  const int64_t transform_size_;
  const int correction_bits_;
  const std::vector<int16_t> window_;
  const FixedPointFourier transform_;
  const MelChannels channels_;
  std::vector<uint32_t> noise_;
  // Three coefficients of a parabola for each power of two: value, slope, curvature.
  std::vector<int16_t> gains_;
};

}  // namespace tessera

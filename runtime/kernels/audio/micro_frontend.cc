#include "runtime/kernels/audio/micro_frontend.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/kernels/primitives/x86_convert.h"

namespace tessera {
namespace {

constexpr int kWindowBits = 12;
constexpr int kWeightBits = 12;
constexpr int kNoiseBits = 14;
constexpr int kSnrBits = 12;     // fractional bits of signal-to-noise ratios
constexpr int kOutputBits = 6;   // and of what they are shrunk to
constexpr int kLogBits = 16;     // and of logarithms
constexpr int kSegmentBits = 7;  // of the table of logarithms

int64_t TransformSize(int64_t window) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(window, 2))));
}

// Shifts by other numbers than 0 to 31 count modulo 32, as processors take them.
int Shift(int64_t bits) { return static_cast<int>(bits & 31); }

std::vector<int16_t> HannWindow(int64_t size) {
  std::vector<int16_t> window(size);
  const float step = static_cast<float>(M_PI * 2 / static_cast<double>(static_cast<float>(size)));
  for (int64_t i = 0; i < size; ++i) {
    const auto value =
        static_cast<float>(0.5 - 0.5 * std::cos(step * (static_cast<double>(i) + 0.5)));
    window[i] = static_cast<int16_t>(std::floor(value * (1 << kWindowBits) + 0.5));
  }
  return window;
}

float Mel(float hertz) { return static_cast<float>(1127.0 * std::log1p(hertz / 700.0)); }

uint64_t Weight(double share) {
  return static_cast<uint64_t>(
      int64_t{ConvertAsX86<int16_t>(std::floor(share * (1 << kWeightBits) + 0.5))});
}

// Returns the square root, rounded to nearest.
uint32_t SquareRoot(uint64_t x) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(x)));
  while (root * root > x) --root;
  while ((root + 1) * (root + 1) <= x) ++root;
  const uint64_t largest = x >> 32 == 0 ? 0xffff : 0xffffffff;
  return static_cast<uint32_t>(x - root * root > root && root != largest ? root + 1 : root);
}

// log2(1 + s / 128) - s / 128, in units of 2^-16.
const std::vector<int32_t>& LogTable() {
  static const auto* const table = [] {
    auto* made = new std::vector<int32_t>;
    for (int s = 0; s <= 1 << kSegmentBits; ++s) {
      const double x = static_cast<double>(s) / (1 << kSegmentBits);
      made->push_back(static_cast<int32_t>(std::lround((std::log2(1 + x) - x) * (1 << kLogBits))));
    }
    return made;
  }();
  return *table;
}

// Returns the natural logarithm times 2^scale_shift. Requires x >= 1.
uint32_t ScaledLog(uint32_t x, int scale_shift) {
  constexpr uint64_t kLog2 = 45426;  // log(2) with 16 fractional bits
  constexpr uint32_t kHalf = 1u << (kLogBits - 1);
  const int whole = std::bit_width(x) - 1;
  const uint64_t rest = x - (uint64_t{1} << whole);
  const auto fraction = static_cast<int32_t>(whole < kLogBits ? rest << (kLogBits - whole)
                                                              : rest >> (whole - kLogBits));
  const int segment = fraction >> (kLogBits - kSegmentBits);
  const int32_t at = fraction - (segment << (kLogBits - kSegmentBits));
  const int32_t low = LogTable()[segment], high = LogTable()[segment + 1];
  // TensorFlow moves by a 128th of the step between two entries.
  const int32_t correction = low + ((high - low) * at >> kLogBits);
  const uint32_t log2 =
      (static_cast<uint32_t>(whole) << kLogBits) + static_cast<uint32_t>(fraction + correction);
  const auto natural = static_cast<uint32_t>((kLog2 * log2 + kHalf) >> kLogBits);
  return ((natural << scale_shift) + kHalf) >> kLogBits;
}

// Returns what a share is in units of 2^-14.
uint32_t NoiseShare(float share) { return ConvertAsX86<uint16_t>(share * (1 << kNoiseBits)); }

}  // namespace

MelChannels::MelChannels(const MicroFrontendOptions& options, int64_t spectrum_size) {
  const int64_t count = options.num_channels + 1;
  const float low = Mel(options.lower_band_limit);
  const float spacing =
      (Mel(options.upper_band_limit) - low) / static_cast<float>(static_cast<int>(count));
  const auto bin_width = static_cast<float>(0.5 * static_cast<double>(options.sample_rate) /
                                            (static_cast<float>(spectrum_size) - 1));
  const double start = 1.5 + options.lower_band_limit / bin_width;
  if (!(start >= 0 && start <= static_cast<double>(spectrum_size))) return;
  auto next = static_cast<int64_t>(start);
  float lower_center = low;
  for (int64_t c = 0; c < count; ++c) {
    const float center = low + spacing * static_cast<float>(c + 1);
    Slope slope{.first = next, .rising = {}, .falling = {}};
    for (; Mel(static_cast<float>(next) * bin_width) <= center; ++next) {
      if (next + 1 >= spectrum_size) return;
      const float share =
          (center - Mel(static_cast<float>(next) * bin_width)) / (center - lower_center);
      slope.rising.push_back(Weight(share));
      slope.falling.push_back(Weight(1.0 - share));
    }
    slopes_.push_back(std::move(slope));
    lower_center = center;
  }
  is_valid_ = true;
}

std::vector<uint32_t> MelChannels::operator()(const std::vector<FixedPointComplex>& spectrum,
                                              int shift) const {
  std::vector<uint32_t> channels;
  uint64_t carried = 0;
  for (size_t c = 0; c < slopes_.size(); ++c) {
    const Slope& slope = slopes_[c];
    uint64_t sum = carried;
    carried = 0;
    for (size_t i = 0; i < slope.rising.size(); ++i) {
      const FixedPointComplex x = spectrum[slope.first + static_cast<int64_t>(i)];
      const auto energy = static_cast<uint64_t>(int64_t{x.re} * x.re + int64_t{x.im} * x.im);
      sum += slope.rising[i] * energy;
      carried += slope.falling[i] * energy;
    }
    // Below the first centre there is no channel.
    if (c > 0) channels.push_back(SquareRoot(sum) >> shift);
  }
  return channels;
}

MicroFrontend::MicroFrontend(const MicroFrontendOptions& options)
    : options_(options),
      transform_size_(TransformSize(options.window_samples)),
      correction_bits_(std::bit_width(static_cast<uint64_t>(transform_size_)) - 1 -
                       kWeightBits / 2),
      window_(HannWindow(options.window_samples)),
      transform_(transform_size_),
      channels_(options, transform_size_ / 2 + 1),
      noise_(options.num_channels, 0) {
  if (!options.enable_pcan) return;
  for (uint32_t x = 0; x < 2; ++x) gains_.push_back(ExactGain(x));
  for (int bits = 2; bits <= 32; ++bits) {
    const uint32_t begin = 1u << (bits - 1);
    const uint32_t end = bits == 32 ? begin + (begin - 1) : 2 * begin;
    const int16_t at_begin = ExactGain(begin);
    const int to_middle = ExactGain(begin + (begin >> 1)) - at_begin;
    const int to_end = ExactGain(end) - at_begin;
    const int slope = 4 * to_middle - to_end;
    gains_.push_back(at_begin);
    gains_.push_back(static_cast<int16_t>(slope));
    gains_.push_back(static_cast<int16_t>(to_end - slope));
  }
}

int16_t MicroFrontend::ExactGain(uint32_t noise) const {
  const uint32_t unit = 1u << Shift(options_.smoothing_bits - correction_bits_);
  const float x = static_cast<float>(noise) / static_cast<float>(unit);
  const float gain = static_cast<float>(1u << Shift(options_.gain_bits)) *
                     std::pow(x + options_.pcan_offset, -options_.pcan_strength);
  return gain > 32767 ? int16_t{32767} : ConvertAsX86<int16_t>(gain + 0.5f);
}

int16_t MicroFrontend::Gain(uint32_t noise) const {
  if (noise <= 2) return gains_[noise];
  const int bits = std::bit_width(noise);
  const int16_t* const parabola = gains_.data() + 2 + 3 * (bits - 2);
  const auto fraction =
      static_cast<int32_t>((bits < 11 ? noise << (11 - bits) : noise >> (bits - 11)) & 0x3ff);
  int32_t gain = parabola[2] * fraction >> 5;
  gain += static_cast<int32_t>(static_cast<uint32_t>(parabola[1]) << 5);
  gain *= fraction;
  return static_cast<int16_t>(((gain + (1 << 14)) >> 15) + parabola[0]);
}

void MicroFrontend::ReduceNoise(std::vector<uint32_t>* signal) {
  const int bits = Shift(options_.smoothing_bits);
  const uint32_t remaining = NoiseShare(options_.min_signal_remaining);
  for (size_t c = 0; c < signal->size(); ++c) {
    uint32_t& value = (*signal)[c];
    const uint32_t share =
        NoiseShare(c % 2 == 0 ? options_.even_smoothing : options_.odd_smoothing);
    const uint32_t scaled = value << bits;
    noise_[c] = static_cast<uint32_t>(
        (uint64_t{scaled} * share + uint64_t{noise_[c]} * ((1u << kNoiseBits) - share)) >>
        kNoiseBits);
    const auto floor = static_cast<uint32_t>(uint64_t{value} * remaining >> kNoiseBits);
    value = std::max((scaled - std::min(noise_[c], scaled)) >> bits, floor);
  }
}

void MicroFrontend::NormalizeAmplitudes(std::vector<uint32_t>* signal) const {
  const int64_t shift = options_.gain_bits - correction_bits_ - kSnrBits;
  for (size_t c = 0; c < signal->size(); ++c) {
    // A gain beyond 16 bits wraps around, and counts as one of 32 bits then.
    const uint64_t gain = static_cast<uint32_t>(int32_t{Gain(noise_[c])});
    const auto ratio = static_cast<uint32_t>(uint64_t{(*signal)[c]} * gain >> (shift & 63));
    // Small ratios are squared; larger ones go on in a straight line.
    (*signal)[c] = ratio < 2u << kSnrBits
                       ? ratio * ratio >> (2 + 2 * kSnrBits - kOutputBits)
                       : (ratio >> (kSnrBits - kOutputBits)) - (1u << kOutputBits);
  }
}

uint16_t MicroFrontend::Scaled(uint32_t value) const {
  if (options_.enable_log) {
    value = correction_bits_ < 0 ? value >> -correction_bits_ : value << correction_bits_;
    value = value > 1 ? ScaledLog(value, Shift(options_.scale_shift)) : 0;
  }
  return static_cast<uint16_t>(std::min<uint32_t>(value, 0xffff));
}

std::vector<uint16_t> MicroFrontend::operator()(const int16_t* samples) {
  std::vector<int16_t> windowed(transform_size_, 0);
  int16_t largest = 0;
  for (size_t i = 0; i < window_.size(); ++i) {
    windowed[i] = static_cast<int16_t>(samples[i] * window_[i] >> kWindowBits);
    largest = std::max(largest, static_cast<int16_t>(windowed[i] < 0 ? -windowed[i] : windowed[i]));
  }
  // Uses all bits that there are.
  const int shift = 15 - std::bit_width(static_cast<uint32_t>(largest));
  for (int16_t& x : windowed) x = static_cast<int16_t>(static_cast<uint32_t>(x) << shift);
  std::vector<uint32_t> signal = channels_(transform_(windowed), shift);
  ReduceNoise(&signal);
  if (options_.enable_pcan) NormalizeAmplitudes(&signal);
  std::vector<uint16_t> features(signal.size());
  std::transform(signal.begin(), signal.end(), features.begin(),
                 [this](uint32_t value) { return Scaled(value); });
  return features;
}

}  // namespace tessera

#include "runtime/kernels/wav_writer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

constexpr int64_t kHeaderBytes = 44;

void AppendInteger(uint32_t value, int bytes, std::string* to) {
  for (int i = 0; i < bytes; ++i) to->push_back(static_cast<char>(value >> 8 * i));
}

}  // namespace

absl::StatusOr<std::string> WriteWav(absl::Span<const float> samples, int64_t channels,
                                     uint32_t rate) {
  if (channels < 1 || channels > UINT16_MAX ||
      static_cast<int64_t>(samples.size()) > (int64_t{UINT32_MAX} - kHeaderBytes) / 2) {
    return absl::InvalidArgumentError(absl::StrCat(samples.size(), " samples of ", channels,
                                                   " channels do not fit into a WAV file"));
  }
  const auto num_channels = static_cast<uint32_t>(channels);
  const auto data_size = static_cast<uint32_t>(samples.size() * 2);
  std::string file = "RIFF";
  file.reserve(kHeaderBytes + data_size);
  AppendInteger(kHeaderBytes - 8 + data_size, 4, &file);
  file += "WAVEfmt ";
  AppendInteger(16, 4, &file);
  AppendInteger(kWavPcm, 2, &file);
  AppendInteger(num_channels, 2, &file);
  AppendInteger(rate, 4, &file);
  AppendInteger(rate * num_channels * 2, 4, &file);
  AppendInteger(num_channels * 2, 2, &file);
  AppendInteger(16, 2, &file);
  file += "data";
  AppendInteger(data_size, 4, &file);
  for (const float sample : samples) {
    const float scaled =
        std::isnan(sample)
            ? 0.0f
            : std::round(std::clamp(sample * kWavFullScale, -kWavFullScale, kWavFullScale - 1));
    AppendInteger(static_cast<uint16_t>(static_cast<int16_t>(scaled)), 2, &file);
  }
  return file;
}

}  // namespace tessera

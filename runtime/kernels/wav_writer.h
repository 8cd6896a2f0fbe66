// Encoding sound as WAV: 16-bit PCM in RIFF (IBM and Microsoft, 1991).
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace tessera {

inline constexpr uint16_t kWavPcm = 1;            // the format's name for plain samples
inline constexpr float kWavFullScale = 32768.0f;  // the sample that stands for 1.0

// Returns a file with the samples, those of all channels of a moment next to each other. What is
// beyond -1 to 1 is cut, and what is no number is silence. `rate`: moments a second.
// Errors: INVALID_ARGUMENT for no channels, too many of them, or 4 GiB and more.
absl::StatusOr<std::string> WriteWav(absl::Span<const float> samples, int64_t channels,
                                     uint32_t rate);

}  // namespace tessera

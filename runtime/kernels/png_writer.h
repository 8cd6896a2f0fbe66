// Encoding PNG.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tessera {

// Pixels in row-major order, without gaps between rows.
struct PngPixels {
  const void* data = nullptr;  // 16-bit channels in the machine's byte order
  int64_t width = 0, height = 0;
  int channels = 0;  // 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA
  int bits = 8;      // a channel: 8 or 16
};

// Returns the pixels as a PNG file. `compression` is zlib's level: 0 to 9, or -1 for its default.
// Errors: INVALID_ARGUMENT for other numbers of channels, other levels, and for images that have no
// pixels or are too large for the format.
absl::StatusOr<std::string> WritePng(const PngPixels& pixels, int compression);

}  // namespace tessera

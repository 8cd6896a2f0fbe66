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

// Errors: INVALID_ARGUMENT unless `compression` is a level of zlib, 0 to 9, or -1 for its default.
absl::Status CheckPngCompression(int64_t compression);

// Returns the pixels as a PNG file. Errors: that of CheckPngCompression(), INVALID_ARGUMENT for
// other numbers of channels and for images that have no pixels, INTERNAL for images that libpng
// refuses, such as those of more than a million rows or columns.
absl::StatusOr<std::string> WritePng(const PngPixels& pixels, int64_t compression);

}  // namespace tessera

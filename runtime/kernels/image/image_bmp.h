// Decoding BMP: uncompressed, 8, 24 or 32 bits a pixel, no palette.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// A view of a file's pixels, which must outlive it.
struct BmpImage {
  int64_t height = 0, width = 0;
  int64_t channels = 0;       // of the pixels that Read() writes: 1 grey, 3 RGB, 4 RGBA
  int64_t file_channels = 0;  // likewise

  // `channels` is what is asked for: 3, 4, or 0 for those of the file. Grey becomes colours, what
  // has no alpha is opaque, and alpha is dropped where it is not asked for.
  // Errors: INVALID_ARGUMENT for another format, other channels, or a file that does not end with
  // its last row, as in TensorFlow.
  static absl::StatusOr<BmpImage> Parse(absl::string_view bytes, int channels);
  // Writes the pixels in row-major order, from the top.
  void Read(uint8_t* to) const;

  absl::string_view rows;
  int64_t row_bytes = 0;
  bool top_down = false;
};

}  // namespace tessera

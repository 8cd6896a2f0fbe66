// Encoding JPEG.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace tessera {

struct JpegEncoding {
  int quality = 95;  // 0 to 100
  bool progressive = false;
  bool optimize_size = false;  // two passes, for Huffman tables that suit the image
  bool chroma_downsampling = true;
  bool density_in_cm = false;  // else in inches
  int x_density = 300, y_density = 300;
  std::string xmp_metadata;  // none if empty
};

// Returns the file of an image whose `pixels` are in row-major order. `channels` is 1 or 3.
// Errors: INTERNAL if the library refuses, for instance a size of 0.
absl::StatusOr<std::string> EncodeJpeg(const uint8_t* pixels, int64_t height, int64_t width,
                                       int channels, const JpegEncoding& encoding);

}  // namespace tessera

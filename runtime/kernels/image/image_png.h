// Decoding PNG.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Reads one image.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<PngReader> png, PngReader::Open(bytes, 3, 8));
//   RETURN_IF_ERROR(png->Read(pixels));  // png->height() x width() x channels()
//
// Not thread-safe. `bytes` must live until Read() returns.
class PngReader {
 public:
  // Reads the header. `channels`: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA; 0 for those of the file,
  // colours for a palette. `bits` a channel: 8 or 16, to which the file's are cut or spread.
  // Errors: INVALID_ARGUMENT for anything but a PNG.
  static absl::StatusOr<std::unique_ptr<PngReader>> Open(absl::string_view bytes, int channels,
                                                         int bits);
  virtual ~PngReader() = default;

  virtual int64_t width() const = 0;
  virtual int64_t height() const = 0;
  virtual int channels() const = 0;
  // Writes the pixels in row-major order, 16-bit channels in the machine's byte order. To be called
  // once. Errors: INVALID_ARGUMENT if the file is damaged.
  virtual absl::Status Read(void* pixels) = 0;
};

}  // namespace tessera

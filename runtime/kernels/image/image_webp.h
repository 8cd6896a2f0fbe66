// Decoding WebP, still images and animations.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Reads the frames of one file. Not thread-safe. `bytes` must live until Read() returns.
class WebpReader {
 public:
  // Reads the header. Errors: INVALID_ARGUMENT for anything but a WebP image.
  static absl::StatusOr<std::unique_ptr<WebpReader>> Open(absl::string_view bytes);
  virtual ~WebpReader() = default;

  virtual int64_t frames() const = 0;
  virtual int64_t height() const = 0;
  virtual int64_t width() const = 0;
  virtual int channels() const = 0;  // 3, or 4 with transparency
  // Writes the first `count` frames, [count, height, width, channels]. To be called once.
  // Errors: INVALID_ARGUMENT for a damaged file.
  virtual absl::Status Read(int64_t count, uint8_t* pixels) = 0;
};

}  // namespace tessera

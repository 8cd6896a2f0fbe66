// Decoding JPEG.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

struct JpegOptions {
  int channels = 0;  // 1 grey, 3 RGB, 0 for those of the file
  int ratio = 1;     // shrinks by 1, 2, 4 or 8
  bool fancy_upscaling = true;
  bool fast_dct = true;  // quicker, less exact; what TensorFlow does unless told otherwise
  // Whether pixels are made up for what a file that ends early lacks. Rows of a damaged file are
  // grey.
  bool try_recover_truncated = false;
  // The part of the rows that must be there. If not all must be, the rest of a whole image whose
  // file ends early is black.
  float acceptable_fraction = 1;
};

// Part of an image, in pixels from its upper left corner.
struct JpegWindow {
  int64_t y, x, height, width;
};

// Reads one image; used like PngReader. Not thread-safe. `bytes` must live until Read() returns.
class JpegReader {
 public:
  // Reads the header. Errors: INVALID_ARGUMENT for anything but a JPEG.
  static absl::StatusOr<std::unique_ptr<JpegReader>> Open(absl::string_view bytes,
                                                          const JpegOptions& options);
  virtual ~JpegReader() = default;

  virtual int64_t width() const = 0;
  virtual int64_t height() const = 0;
  virtual int channels() const = 0;
  // Components in the file, whatever is asked for.
  virtual int file_channels() const = 0;
  // Writes the pixels in row-major order. To be called once, or ReadWindow() once.
  // Errors: INVALID_ARGUMENT if the file is damaged or ends early.
  absl::Status Read(uint8_t* pixels) { return ReadWindow({0, 0, height(), width()}, pixels); }
  // Writes the pixels of a window. Only the window is computed, and what is below it is not looked
  // at. Pixels are those that Read() would write there, but for the first and the last column:
  // where colours have a lower resolution, libjpeg interpolates them without their neighbours
  // outside of the window. TensorFlow's DecodeAndCropJpeg does the same. Requires a window inside
  // the image, with pixels. Errors: as Read().
  virtual absl::Status ReadWindow(const JpegWindow& window, uint8_t* pixels) = 0;
};

}  // namespace tessera

// Upsampling and colour conversion of JPEGs for libjpeg, which computes the samples.
#pragma once

#include <memory>

struct jpeg_decompress_struct;  // libjpeg's

namespace tessera {

// Makes the RGB pixels of an image whose colours have half the resolution, in the place of
// libjpeg's upsampler and colour converter: colours are interpolated and converted in registers,
// where libjpeg writes rows of interpolated colours and reads them again. Pixels are the same.
//
//   jpeg_start_decompress(&info);
//   upsampler = JpegUpsampler::Install(&info);   // null: libjpeg does it
//   jpeg_read_scanlines(&info, ...);
//
// All rows must be read in full: jpeg_skip_scanlines() and jpeg_crop_scanline() expect libjpeg's
// own upsampler. `info` refers to this one, which must live as long as rows are read.
class JpegUpsampler {
 public:
  // Returns null unless YCbCr becomes RGB, in full size, and colours have half the width, or half
  // the width and half the height, and are interpolated ("fancy upsampling"). `info` must have been
  // started, and no row read.
  static std::unique_ptr<JpegUpsampler> Install(jpeg_decompress_struct* info);

  virtual ~JpegUpsampler() = default;
};

}  // namespace tessera

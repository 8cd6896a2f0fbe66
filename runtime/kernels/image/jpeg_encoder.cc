#include "runtime/kernels/image/jpeg_encoder.h"

#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // jpeglib.h wants FILE
#include <cstdlib>
#include <limits>

namespace tessera {
namespace {

// libjpeg leaves through longjmp: Write() owns no objects with destructors.
class JpegWriter {
 public:
  JpegWriter() {
    info_.err = jpeg_std_error(&error_.base);
    error_.base.error_exit = [](j_common_ptr info) {
      std::longjmp(reinterpret_cast<ErrorManager*>(info->err)->leave, 1);
    };
    error_.base.output_message = [](j_common_ptr) {};
  }
  JpegWriter(const JpegWriter&) = delete;
  JpegWriter& operator=(const JpegWriter&) = delete;
  ~JpegWriter() {
    jpeg_destroy_compress(&info_);
    std::free(bytes_);
  }

  bool Write(const uint8_t* pixels, int64_t height, int64_t width, int channels,
             const JpegEncoding& encoding, const std::string& xmp) {
    if (setjmp(error_.leave) != 0) return false;
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &bytes_, &size_);
    info_.image_width = static_cast<JDIMENSION>(width);
    info_.image_height = static_cast<JDIMENSION>(height);
    info_.input_components = channels;
    info_.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info_);
    if (encoding.optimize_size) info_.optimize_coding = TRUE;
    info_.density_unit = encoding.density_in_cm ? 2 : 1;
    info_.X_density = static_cast<UINT16>(encoding.x_density);
    info_.Y_density = static_cast<UINT16>(encoding.y_density);
    jpeg_set_quality(&info_, encoding.quality, TRUE);
    if (encoding.progressive) jpeg_simple_progression(&info_);
    if (!encoding.chroma_downsampling) {
      for (int i = 0; i < info_.num_components; ++i) {
        info_.comp_info[i].h_samp_factor = 1;
        info_.comp_info[i].v_samp_factor = 1;
      }
    }
    jpeg_start_compress(&info_, TRUE);
    if (!xmp.empty()) {
      jpeg_write_marker(&info_, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(xmp.data()),
                        static_cast<unsigned>(xmp.size()));
    }
    while (info_.next_scanline < info_.image_height) {
      JSAMPROW rows[kRows];
      const JDIMENSION count = std::min(kRows, info_.image_height - info_.next_scanline);
      for (JDIMENSION i = 0; i < count; ++i) {
        // The library does not write to the row.
        rows[i] = const_cast<JSAMPROW>(pixels + (info_.next_scanline + i) * width * channels);
      }
      jpeg_write_scanlines(&info_, rows, count);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

  std::string file() const { return std::string(reinterpret_cast<const char*>(bytes_), size_); }

 private:
  // The rows that a call passes: those of a row of blocks, as colours have half the height.
  static constexpr JDIMENSION kRows = 16;

  struct ErrorManager {
    jpeg_error_mgr base;  // first: libjpeg knows the whole by its address
    std::jmp_buf leave;
  };

  jpeg_compress_struct info_ = {};
  ErrorManager error_ = {};
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;  // NOLINT(google-runtime-int): libjpeg's type
};

}  // namespace

absl::StatusOr<std::string> EncodeJpeg(const uint8_t* pixels, int64_t height, int64_t width,
                                       int channels, const JpegEncoding& encoding) {
  std::string xmp;
  if (!encoding.xmp_metadata.empty()) {
    // Adobe's XMP specification, part 3: the name of the marker ends with a zero byte.
    xmp = std::string("http://ns.adobe.com/xap/1.0/") + '\0' + encoding.xmp_metadata;
  }
  JpegWriter writer;
  constexpr int64_t kMaxSize = JPEG_MAX_DIMENSION;
  if (height > kMaxSize || width > kMaxSize ||
      !writer.Write(pixels, height, width, channels, encoding, xmp)) {
    return absl::InternalError("JPEG encoding failed");
  }
  return writer.file();
}

}  // namespace tessera

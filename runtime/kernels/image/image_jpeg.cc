#include "runtime/kernels/image/image_jpeg.h"

#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>  // jpeglib.h wants FILE
#include <cstring>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/kernels/image/jpeg_huffman.h"
#include "runtime/kernels/image/jpeg_upsampler.h"

namespace tessera {
namespace {

struct ErrorManager {
  jpeg_error_mgr base;  // first: libjpeg knows the whole by its address
  std::jmp_buf leave;
};

// libjpeg leaves through longjmp: no function that calls it owns objects with destructors.
class LibJpegReader final : public JpegReader {
 public:
  LibJpegReader(absl::string_view bytes, const JpegOptions& options)
      : bytes_(bytes), options_(options) {}
  ~LibJpegReader() override { jpeg_destroy_decompress(&info_); }

  int64_t width() const override { return info_.output_width; }
  int64_t height() const override { return info_.output_height; }
  int channels() const override { return channels_; }
  int file_channels() const override { return info_.num_components; }

  bool ReadHeader() {
    info_.err = jpeg_std_error(&error_.base);
    error_.base.error_exit = [](j_common_ptr info) {
      std::longjmp(reinterpret_cast<ErrorManager*>(info->err)->leave, 1);
    };
    error_.base.output_message = [](j_common_ptr) {};
    if (setjmp(error_.leave) != 0) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    // Instead of the library's, which makes up an end of the image.
    info_.src->fill_input_buffer = FillInput;
    info_.client_data = this;
    if (jpeg_read_header(&info_, TRUE) != JPEG_HEADER_OK) return false;
    channels_ = options_.channels != 0 ? options_.channels : std::min(info_.num_components, 3);
    if (channels_ != 1 && channels_ != 3) return false;
    const bool is_cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = channels_ == 1 ? JCS_GRAYSCALE : is_cmyk ? JCS_CMYK : JCS_RGB;
    info_.do_fancy_upsampling = options_.fancy_upscaling;
    info_.scale_num = 1;
    info_.scale_denom = options_.ratio;
    info_.dct_method = options_.fast_dct ? JDCT_IFAST : JDCT_ISLOW;
    jpeg_calc_output_dimensions(&info_);
    return true;
  }

  absl::Status ReadWindow(const JpegWindow& window, uint8_t* pixels) override {
    const bool is_whole = IsWhole(window);
    // How much of a truncated image there is counts rows of the whole.
    if (options_.try_recover_truncated && !is_whole) return CutFromWhole(window, pixels);
    const bool is_cmyk = info_.out_color_space == JCS_CMYK;
    std::vector<uint8_t> row(is_cmyk || !is_whole ? static_cast<size_t>(width()) * 4 : 0);
    bool complete = ReadRows(window, pixels, row.data());
    const bool recovers = options_.try_recover_truncated;
    const bool may_lack_rows = recovers || (options_.acceptable_fraction < 1 && is_whole);
    // What comes after the end of a truncated image, and in which row that is, is libjpeg's.
    if (huffman_ != nullptr && (huffman_->gave_up() || (ended_early_ && may_lack_rows))) {
      complete = StartOver() && ReadRows(window, pixels, row.data());
    }
    const int64_t rows = rows_read_;
    if (complete && (!ended_early_ || recovers)) return absl::OkStatus();
    const float least = std::min(options_.acceptable_fraction, 1.0f) * static_cast<float>(height());
    if (!may_lack_rows || (!recovers && !ended_early_) || static_cast<float>(rows) < least) {
      return absl::InvalidArgumentError(ended_early_ ? "the JPEG image ends early"
                                                     : "the JPEG image is damaged");
    }
    const int64_t row_bytes = width() * channels_;
    const int missing = recovers ? kGrey : kBlack;
    std::memset(pixels + rows * row_bytes, missing, (height() - rows) * row_bytes);
    return absl::OkStatus();
  }

 private:
  static constexpr int kBlack = 0, kGrey = 128;

  static boolean FillInput(j_decompress_ptr info) {
    static const JOCTET kEnd[] = {0xFF, JPEG_EOI};
    static_cast<LibJpegReader*>(info->client_data)->ended_early_ = true;
    info->src->next_input_byte = kEnd;
    info->src->bytes_in_buffer = sizeof(kEnd);
    return TRUE;
  }

  bool IsWhole(const JpegWindow& window) const {
    return window.height == height() && window.width == width();
  }

  absl::Status CutFromWhole(const JpegWindow& window, uint8_t* pixels) {
    const int64_t row_bytes = width() * channels_;
    std::vector<uint8_t> whole(height() * row_bytes);
    RETURN_IF_ERROR(Read(whole.data()));
    for (int64_t y = 0; y < window.height; ++y) {
      std::copy_n(&whole[(window.y + y) * row_bytes + window.x * channels_],
                  window.width * channels_, pixels + y * window.width * channels_);
    }
    return absl::OkStatus();
  }

  // Has libjpeg decode the file alone, from its beginning.
  bool StartOver() {
    jpeg_destroy_decompress(&info_);
    info_ = {};
    huffman_ = nullptr;
    upsampler_ = nullptr;
    only_libjpeg_ = true;
    ended_early_ = false;
    rows_read_ = 0;
    return ReadHeader();
  }

  // `row` has room for a row of four channels, unless the window is the whole image and has no
  // inks.
  bool ReadRows(const JpegWindow& window, uint8_t* pixels, uint8_t* row) {
    if (setjmp(error_.leave) != 0) return false;
    jpeg_start_decompress(&info_);
    if (!only_libjpeg_) huffman_ = JpegHuffmanDecoder::Install(&info_);
    if (IsWhole(window)) upsampler_ = JpegUpsampler::Install(&info_);
    const int64_t first = SelectColumns(window);
    if (window.y > 0) jpeg_skip_scanlines(&info_, window.y);
    const bool is_cmyk = info_.out_color_space == JCS_CMYK;
    const bool is_direct = !is_cmyk && info_.output_width == window.width;
    const size_t row_bytes = static_cast<size_t>(window.width) * channels_;
    for (int64_t y = 0; y < window.height; ++y) {
      uint8_t* const out = pixels + y * row_bytes;
      JSAMPROW to = is_direct ? out : row;
      if (jpeg_read_scanlines(&info_, &to, 1) != 1) return false;
      if (is_cmyk) {
        ToRgb(row + first * 4, window.width, out);
      } else if (!is_direct) {
        std::memcpy(out, row + first * channels_, row_bytes);
      }
      // Rows that come after the end are made up, which is what recovering means.
      if (!ended_early_ || options_.try_recover_truncated) rows_read_ = info_.output_scanline;
    }
    const JDIMENSION below = info_.output_height - info_.output_scanline;
    if (below > 0) jpeg_skip_scanlines(&info_, below);
    jpeg_finish_decompress(&info_);
    return true;
  }

  // Has rows begin with the window, or with some pixels before it. Returns their number.
  int64_t SelectColumns(const JpegWindow& window) {
    if (window.width == info_.output_width) return 0;
    JDIMENSION begin = window.x, count = window.width;
    jpeg_crop_scanline(&info_, &begin, &count);
    return window.x - begin;
  }

  // Adobe's files hold the inverse of the inks.
  void ToRgb(const uint8_t* cmyk, int64_t width, uint8_t* rgb) const {
    for (int64_t x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
      for (int c = 0; c < 3; ++c) {
        rgb[c] =
            static_cast<uint8_t>(info_.saw_Adobe_marker ? cmyk[3] * cmyk[c] / 255
                                                        : (255 - cmyk[3]) * (255 - cmyk[c]) / 255);
      }
    }
  }

  const absl::string_view bytes_;
  const JpegOptions options_;
  jpeg_decompress_struct info_ = {};
  ErrorManager error_ = {};
  std::unique_ptr<JpegHuffmanDecoder> huffman_;  // null if libjpeg decodes alone
  std::unique_ptr<JpegUpsampler> upsampler_;     // null if libjpeg makes the pixels
  bool only_libjpeg_ = false;
  int channels_ = 0;
  bool ended_early_ = false;
  int64_t rows_read_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JpegReader>> JpegReader::Open(absl::string_view bytes,
                                                             const JpegOptions& options) {
  auto reader = std::make_unique<LibJpegReader>(bytes, options);
  if (!reader->ReadHeader()) return absl::InvalidArgumentError("not a valid JPEG header");
  return reader;
}

}  // namespace tessera

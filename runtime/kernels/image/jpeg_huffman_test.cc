#include "runtime/kernels/image/jpeg_huffman.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

// clang-format off
#include <jpeglib.h>  // needs FILE
// clang-format on

#include "gtest/gtest.h"
#include "runtime/kernels/image/image_jpeg.h"
#include "runtime/kernels/image/jpeg_encoder.h"

namespace tessera {
namespace {

// A picture whose neighbouring pixels differ by about `noise`.
std::string MakeJpeg(int height, int width, int channels, int noise, const JpegEncoding& encoding) {
  std::mt19937 random(height * 1000 + width + noise);
  std::vector<uint8_t> pixels(static_cast<size_t>(height) * width * channels);
  for (size_t i = 0; i < pixels.size(); ++i) {
    const int smooth = static_cast<int>(i / channels % width + 2 * (i / channels / width));
    pixels[i] = static_cast<uint8_t>(
        std::min(255, smooth % 200 + static_cast<int>(random() % (noise + 1))));
  }
  return EncodeJpeg(pixels.data(), height, width, channels, encoding).value();
}

struct Decoding {
  std::vector<uint8_t> pixels;
  bool is_complete = false;  // no error
  bool is_installed = false;
  bool gave_up = false;
};

struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf leave;
};

// Decodes a file by libjpeg with this decoder, or by libjpeg alone. Rows before `first_row` are
// skipped.
class Decoder {
 public:
  Decoder(const std::string& bytes, bool with_huffman, int first_row = 0) {
    info_.err = jpeg_std_error(&error_.base);
    error_.base.error_exit = [](j_common_ptr info) {
      std::longjmp(reinterpret_cast<ErrorManager*>(info->err)->leave, 1);
    };
    error_.base.output_message = [](j_common_ptr) {};
    result_.is_complete = Run(bytes, with_huffman, first_row);
    result_.gave_up = huffman_ != nullptr && huffman_->gave_up();
    jpeg_destroy_decompress(&info_);
  }

  const Decoding& result() const { return result_; }

 private:
  bool Run(const std::string& bytes, bool with_huffman, int first_row) {
    if (setjmp(error_.leave) != 0) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&info_, TRUE);
    info_.dct_method = JDCT_IFAST;
    jpeg_start_decompress(&info_);
    if (with_huffman) huffman_ = JpegHuffmanDecoder::Install(&info_);
    result_.is_installed = huffman_ != nullptr;
    if (first_row > 0) jpeg_skip_scanlines(&info_, first_row);
    const size_t row_bytes = size_t{info_.output_width} * info_.output_components;
    result_.pixels.resize(row_bytes * (info_.output_height - first_row));
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW to = result_.pixels.data() + (info_.output_scanline - first_row) * row_bytes;
      jpeg_read_scanlines(&info_, &to, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  jpeg_decompress_struct info_ = {};
  ErrorManager error_ = {};
  std::unique_ptr<JpegHuffmanDecoder> huffman_;
  Decoding result_;
};

Decoding Decode(const std::string& bytes) { return Decoder(bytes, true).result(); }
Decoding DecodeByLibjpeg(const std::string& bytes) { return Decoder(bytes, false).result(); }

TEST(JpegHuffmanTest, PixelsAreThoseOfLibjpeg) {
  for (const auto& [height, width] : {std::pair(1, 1), {9, 7}, {16, 16}, {33, 50}, {120, 75}}) {
    for (const int channels : {1, 3}) {
      for (const int quality : {3, 50, 90, 100}) {
        for (const int noise : {0, 8, 255}) {
          for (const bool other : {false, true}) {
            const std::string bytes = MakeJpeg(
                height, width, channels, noise,
                {.quality = quality, .optimize_size = other, .chroma_downsampling = other});
            const Decoding found = Decode(bytes);
            ASSERT_TRUE(found.is_installed && found.is_complete);
            ASSERT_EQ(found.pixels, DecodeByLibjpeg(bytes).pixels)
                << height << "x" << width << "x" << channels << " quality " << quality << " noise "
                << noise;
          }
        }
      }
    }
  }
}

TEST(JpegHuffmanTest, RowsCanBeSkipped) {
  const std::string bytes = MakeJpeg(100, 60, 3, 30, {});
  for (const int first_row : {1, 8, 16, 37, 99}) {
    const Decoding found = Decoder(bytes, true, first_row).result();
    EXPECT_TRUE(found.is_complete);
    EXPECT_EQ(found.pixels, Decoder(bytes, false, first_row).result().pixels) << first_row;
  }
}

TEST(JpegHuffmanTest, ProgressiveImagesAreLeftToLibjpeg) {
  const std::string bytes = MakeJpeg(40, 40, 3, 30, {.progressive = true});
  const Decoding found = Decode(bytes);
  EXPECT_FALSE(found.is_installed);
  EXPECT_TRUE(found.is_complete);
}

TEST(JpegHuffmanTest, ADamagedScanHasThePixelsOfLibjpegOrIsGivenUp) {
  std::mt19937 random(1);
  int given_up = 0;
  for (const bool optimize : {false, true}) {
    const std::string whole = MakeJpeg(64, 48, 3, 60, {.optimize_size = optimize});
    for (int i = 0; i < 1000; ++i) {
      std::string damaged = whole;
      for (size_t n = 1 + random() % 3; n > 0; --n) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      if (random() % 4 == 0) damaged.resize(random() % damaged.size());
      const Decoding found = Decode(damaged);
      given_up += found.gave_up;
      if (found.gave_up) continue;
      ASSERT_EQ(found.pixels, DecodeByLibjpeg(damaged).pixels);
    }
  }
  EXPECT_GT(given_up, 100);
}

TEST(JpegHuffmanTest, AReaderHasLibjpegDecodeWhatIsGivenUp) {
  std::string bytes = MakeJpeg(64, 48, 3, 60, {});
  // A byte of ones without a zero behind it is the beginning of a marker.
  bytes[bytes.size() / 2] = '\xff';
  bytes[bytes.size() / 2 + 1] = '\xd0';
  ASSERT_TRUE(Decode(bytes).gave_up);
  const auto reader = JpegReader::Open(bytes, {}).value();
  std::vector<uint8_t> pixels(64 * 48 * 3);
  ASSERT_TRUE(reader->Read(pixels.data()).ok());
  EXPECT_EQ(pixels, DecodeByLibjpeg(bytes).pixels);
}

}  // namespace
}  // namespace tessera

#include "runtime/kernels/image/jpeg_upsampler.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

// clang-format off
#include <jpeglib.h>  // needs FILE
// clang-format on

#include "gtest/gtest.h"
#include "runtime/kernels/image/testing/random_jpeg.h"

namespace tessera {
namespace {

struct Picture {
  int height, width;
  // How much the resolution of the colours is lower.
  int horizontal = 2, vertical = 2;
  int channels = 3;
};

// A picture whose samples are random, so that many colours are outside of what RGB can show.
std::string MakeJpeg(const Picture& picture) {
  return MakeRandomJpeg({.height = picture.height,
                         .width = picture.width,
                         .channels = picture.channels,
                         .samples = picture.channels == 1 ? JCS_GRAYSCALE : JCS_YCbCr,
                         .quality = 100,
                         .horizontal = picture.horizontal,
                         .vertical = picture.vertical,
                         .has_rows_of_extremes = true});
}

struct Settings {
  bool is_fancy = true;
  int ratio = 1;
  J_DCT_METHOD method = JDCT_IFAST;
  int rows_at_once = 1;
};

struct Decoding {
  std::vector<uint8_t> pixels;
  bool is_installed = false;
};

Decoding Decode(const std::string& bytes, bool with_upsampler, const Settings& settings = {}) {
  Decoding result;
  jpeg_decompress_struct info;
  jpeg_error_mgr error;
  info.err = jpeg_std_error(&error);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  if (info.num_components == 3) info.out_color_space = JCS_RGB;
  info.do_fancy_upsampling = settings.is_fancy;
  info.dct_method = settings.method;
  info.scale_denom = settings.ratio;
  jpeg_start_decompress(&info);
  std::unique_ptr<JpegUpsampler> upsampler;
  if (with_upsampler) upsampler = JpegUpsampler::Install(&info);
  result.is_installed = upsampler != nullptr;
  const size_t row_bytes = size_t{info.output_width} * info.output_components;
  result.pixels.resize(row_bytes * info.output_height);
  while (info.output_scanline < info.output_height) {
    std::vector<JSAMPROW> rows;
    for (int i = 0; i < settings.rows_at_once; ++i) {
      const size_t row = std::min(info.output_scanline + i, info.output_height - 1);
      rows.push_back(result.pixels.data() + row * row_bytes);
    }
    const size_t left = info.output_height - info.output_scanline;
    jpeg_read_scanlines(&info, rows.data(), std::min(rows.size(), left));
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return result;
}

TEST(JpegUpsamplerTest, PixelsAreThoseOfLibjpeg) {
  for (const int vertical : {1, 2}) {
    for (const int height : {1, 2, 3, 16, 17, 50}) {
      for (const int width : {5, 6, 7, 16, 31, 32, 33, 34, 35, 64, 65, 66, 97, 98, 99, 320, 1000}) {
        const std::string bytes = MakeJpeg({height, width, 2, vertical});
        for (const J_DCT_METHOD method : {JDCT_IFAST, JDCT_ISLOW}) {
          const Decoding found = Decode(bytes, true, {.method = method});
          ASSERT_TRUE(found.is_installed);
          ASSERT_EQ(found.pixels, Decode(bytes, false, {.method = method}).pixels)
              << height << "x" << width << " colours of 1/" << vertical << " the height";
        }
      }
    }
  }
}

TEST(JpegUpsamplerTest, AnyNumberOfRowsIsReadAtOnce) {
  const std::string bytes = MakeJpeg({.height = 41, .width = 50});
  const std::vector<uint8_t> wanted = Decode(bytes, false).pixels;
  for (const int rows : {2, 3, 7, 100}) {
    EXPECT_EQ(Decode(bytes, true, {.rows_at_once = rows}).pixels, wanted) << rows;
  }
}

TEST(JpegUpsamplerTest, OtherImagesAreLeftToLibjpeg) {
  for (const Picture& picture :
       {Picture{20, 20, 1, 1}, {20, 20, 1, 2}, {20, 20, 4, 1}, {20, 20, 1, 1, 1}, {20, 4}}) {
    EXPECT_FALSE(Decode(MakeJpeg(picture), true).is_installed)
        << picture.width << " columns, colours of 1/" << picture.horizontal << " the width, "
        << picture.channels << " channels";
  }
  const std::string bytes = MakeJpeg({.height = 20, .width = 20});
  EXPECT_FALSE(Decode(bytes, true, {.is_fancy = false}).is_installed);
  EXPECT_FALSE(Decode(bytes, true, {.ratio = 2}).is_installed);
}

}  // namespace
}  // namespace tessera

#include "runtime/kernels/image/image_bmp.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace tessera {
namespace {

TEST(ImageBmpTest, RowsOfAnyWidthHaveRedFirst) {
  for (int64_t width = 1; width < 40; ++width) {
    const int64_t height = 2, row_bytes = (3 * width + 3) / 4 * 4;
    std::string rows;
    for (int64_t i = 0; i < height * row_bytes; ++i) rows += static_cast<char>(i * 7);
    const BmpImage image{.height = height,
                         .width = width,
                         .channels = 3,
                         .file_channels = 3,
                         .rows = rows,
                         .row_bytes = row_bytes,
                         .top_down = true};
    std::vector<uint8_t> pixels(3 * width * height);
    image.Read(pixels.data());
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        for (int64_t c = 0; c < 3; ++c) {
          EXPECT_EQ(pixels[(y * width + x) * 3 + c],
                    static_cast<uint8_t>(rows[y * row_bytes + 3 * x + 2 - c]))
              << width << ": " << y << " " << x << " " << c;
        }
      }
    }
  }
}

// Returns a file of 1 x 2 pixels with so many bits each, and with so many bytes of rows.
std::string File(int bits, size_t bytes_of_rows) {
  std::string file(54, '\0');
  file[10] = 54;  // where the rows begin
  file[18] = 1;
  file[22] = 2;
  file[28] = static_cast<char>(bits);
  return file + std::string(bytes_of_rows, '\0');
}

TEST(ImageBmpTest, FilesEndWithTheirLastPaddedRow) {
  EXPECT_TRUE(BmpImage::Parse(File(24, 8), 0).ok());
  // The last row is not padded, or something follows it.
  for (const size_t bytes : {size_t{7}, size_t{9}, size_t{10}}) {
    EXPECT_EQ(BmpImage::Parse(File(24, bytes), 0).status().code(),
              absl::StatusCode::kInvalidArgument)
        << bytes;
  }
}

TEST(ImageBmpTest, PixelsHaveWholeBytes) {
  EXPECT_EQ(BmpImage::Parse(File(25, 8), 0).value().channels, 3);
  EXPECT_EQ(BmpImage::Parse(File(16, 8), 0).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera

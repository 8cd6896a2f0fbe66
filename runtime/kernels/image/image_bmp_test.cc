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

}  // namespace
}  // namespace tessera

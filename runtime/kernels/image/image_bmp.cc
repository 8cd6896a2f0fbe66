#include "runtime/kernels/image/image_bmp.h"

#include <immintrin.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

// Where the file's header and the information header after it say what.
constexpr size_t kPixelsAt = 10, kWidthAt = 18, kHeightAt = 22, kBitsAt = 28;
constexpr size_t kHeaderSize = 32;

// A little-endian integer of `count` bytes.
uint32_t Load(absl::string_view bytes, size_t at, int count) {
  uint32_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// Exchanges red and blue of pixels of three bytes, five at a time. Returns how many pixels that
// were: not the last ones of a row, behind which there may be no memory.
int64_t ExchangeRedAndBlue(const char* from, int64_t width, uint8_t* to) {
  const __m128i order = _mm_setr_epi8(2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9, 14, 13, 12, 15);
  int64_t x = 0;
  // Sixteen bytes are read and written, of which the last belongs to the next pixel.
  for (; x + 6 <= width; x += 5) {
    const __m128i pixels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 3 * x));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 3 * x), _mm_shuffle_epi8(pixels, order));
  }
  return x;
}

}  // namespace

absl::StatusOr<BmpImage> BmpImage::Parse(absl::string_view bytes, int channels) {
  if (bytes.size() < kHeaderSize) {
    return absl::InvalidArgumentError("the BMP image has an incomplete header");
  }
  const int64_t start = static_cast<int32_t>(Load(bytes, kPixelsAt, 4));
  const int64_t width = static_cast<int32_t>(Load(bytes, kWidthAt, 4));
  const int64_t height = static_cast<int32_t>(Load(bytes, kHeightAt, 4));
  const int bits = static_cast<int>(Load(bytes, kBitsAt, 2));
  BmpImage image;
  image.file_channels = bits / 8;
  if (image.file_channels != 1 && image.file_channels != 3 && image.file_channels != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("a BMP image of ", bits, " bits a pixel cannot be read"));
  }
  if (channels != 0 && channels != 3 && channels != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("a BMP image has 3 or 4 channels, not ", channels));
  }
  image.channels = channels == 0 ? image.file_channels : channels;
  image.top_down = height < 0;
  image.width = width;
  image.height = std::abs(height);
  image.row_bytes = (width * image.file_channels + 3) / 4 * 4;
  const auto size = static_cast<int64_t>(bytes.size());
  // Every row and column takes a byte; more would overflow below. Rows are padded, the last one
  // too, and nothing follows them.
  if (width <= 0 || height == 0 || width > size || image.height > size || start < 0 ||
      image.row_bytes * image.height != size - start) {
    return absl::InvalidArgumentError(
        absl::StrCat("the BMP image of ", width, " x ", height, " pixels does not fit its file"));
  }
  image.rows = bytes.substr(start);
  return image;
}

void BmpImage::Read(uint8_t* to) const {
  for (int64_t y = 0; y < height; ++y) {
    const char* from = rows.data() + (top_down ? y : height - 1 - y) * row_bytes;
    int64_t x = 0;
    if (file_channels == 3 && channels == 3) {
      x = ExchangeRedAndBlue(from, width, to);
      from += 3 * x, to += 3 * x;
    }
    for (; x < width; ++x, from += file_channels, to += channels) {
      const auto* const pixel = reinterpret_cast<const uint8_t*>(from);
      if (file_channels == 1) {
        std::fill_n(to, std::min<int64_t>(channels, 3), pixel[0]);
      } else {
        to[0] = pixel[2], to[1] = pixel[1], to[2] = pixel[0];  // the file has blue first
      }
      if (channels == 4) to[3] = file_channels == 4 ? pixel[3] : 255;
    }
  }
}

}  // namespace tessera

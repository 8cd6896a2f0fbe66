#include "runtime/kernels/png_writer.h"

#include <png.h>

#include <bit>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

constexpr int64_t kMaxSide = 1'000'000;  // libpng's limit

int ColorType(int channels) {
  constexpr int kTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                            PNG_COLOR_TYPE_RGB_ALPHA};
  return kTypes[channels - 1];
}

void Append(png_structp png, png_bytep bytes, png_size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(bytes), size);
}

// Returns false if libpng failed. It leaves by longjmp(), so nothing here has a destructor.
bool WriteRows(png_structp png, png_infop info, const PngPixels& pixels, int compression,
               png_bytepp rows) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_compression_level(png, compression);
  png_set_IHDR(png, info, static_cast<png_uint_32>(pixels.width),
               static_cast<png_uint_32>(pixels.height), pixels.bits, ColorType(pixels.channels),
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (pixels.bits == 16 && std::endian::native == std::endian::little) png_set_swap(png);
  png_write_image(png, rows);
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

absl::Status CheckPngCompression(int64_t compression) {
  if (compression >= -1 && compression <= 9) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("compression is -1 or from 0 to 9, not ", compression));
}

absl::StatusOr<std::string> WritePng(const PngPixels& pixels, int64_t compression) {
  if (pixels.channels < 1 || pixels.channels > 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("a PNG has 1, 2, 3 or 4 channels, not ", pixels.channels));
  }
  RETURN_IF_ERROR(CheckPngCompression(compression));
  if (pixels.width < 1 || pixels.height < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a PNG has rows and columns, not ", pixels.height, " rows of ", pixels.width));
  }
  // TensorFlow has this code for whatever libpng refuses.
  if (pixels.width > kMaxSide || pixels.height > kMaxSide) {
    return absl::InternalError(absl::StrCat("a PNG has at most ", kMaxSide,
                                            " rows and columns, not ", pixels.height, " rows of ",
                                            pixels.width));
  }
  const int64_t row_bytes = pixels.width * pixels.channels * (pixels.bits / 8);
  std::vector<png_bytep> rows(static_cast<size_t>(pixels.height));
  for (int64_t y = 0; y < pixels.height; ++y) {
    const auto* const row = static_cast<const png_byte*>(pixels.data) + y * row_bytes;
    rows[static_cast<size_t>(y)] = const_cast<png_bytep>(row);  // libpng only reads it
  }
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
  bool written = false;
  if (info != nullptr) {
    png_set_write_fn(png, &file, Append, nullptr);
    written = WriteRows(png, info, pixels, static_cast<int>(compression), rows.data());
  }
  png_destroy_write_struct(&png, &info);
  if (!written) return absl::InternalError("libpng cannot write the image");
  return file;
}

}  // namespace tessera

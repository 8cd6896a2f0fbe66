#include "runtime/kernels/image/image_png.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstring>

namespace tessera {
namespace {

// How much red and green count in grey (ITU-R BT.601).
constexpr double kRedInGrey = 0.299;
constexpr double kGreenInGrey = 0.587;

// libpng leaves through longjmp: no function that calls it owns objects with destructors.
class LibPngReader final : public PngReader {
 public:
  LibPngReader(absl::string_view bytes, int channels, int bits)
      : rest_(bytes), channels_(channels), bits_(bits) {}
  ~LibPngReader() override {
    if (png_ != nullptr) png_destroy_read_struct(&png_, &info_, nullptr);
  }

  int64_t width() const override { return width_; }
  int64_t height() const override { return height_; }
  int channels() const override { return channels_; }

  bool ReadHeader() {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, Leave, Ignore);
    if (png_ == nullptr) return false;
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr || setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, GiveBytes);
    png_read_info(png_, info_);
    width_ = png_get_image_width(png_, info_);
    height_ = png_get_image_height(png_, info_);
    SetTransformations();
    png_read_update_info(png_, info_);
    return true;
  }

  absl::Status Read(void* pixels) override {
    if (!ReadRows(static_cast<png_bytep>(pixels))) {
      return absl::InvalidArgumentError("the PNG image is damaged");
    }
    if (widen_) {
      // From the end, in place: each byte moves up.
      const auto* const narrow = static_cast<const uint8_t*>(pixels);
      for (int64_t i = width_ * height_ * channels_ - 1; i >= 0; --i) {
        static_cast<uint16_t*>(pixels)[i] = static_cast<uint16_t>(narrow[i] * 257);
      }
    }
    return absl::OkStatus();
  }

 private:
  static void GiveBytes(png_structp png, png_bytep to, png_size_t count) {
    auto* const self = static_cast<LibPngReader*>(png_get_io_ptr(png));
    if (count > self->rest_.size()) png_error(png, "the file ends early");
    std::memcpy(to, self->rest_.data(), count);
    self->rest_.remove_prefix(count);
  }
  [[noreturn]] static void Leave(png_structp png, png_const_charp) { png_longjmp(png, 1); }
  static void Ignore(png_structp, png_const_charp) {}

  // What lies between the file's samples and those that are asked for.
  void SetTransformations() {
    const int type = png_get_color_type(png_, info_);
    const int depth = png_get_bit_depth(png_, info_);
    const bool has_transparency = png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
    const bool has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0;
    if (channels_ == 0) {
      channels_ = type == PNG_COLOR_TYPE_PALETTE ? (has_transparency ? 4 : 3)
                                                 : png_get_channels(png_, info_);
    }
    if (channels_ % 2 == 0) {
      if (has_transparency) {
        png_set_tRNS_to_alpha(png_);
      } else if (!has_alpha) {
        png_set_add_alpha(png_, (1u << std::min(depth, bits_)) - 1, PNG_FILLER_AFTER);
      }
    } else if (has_alpha || has_transparency) {
      png_set_strip_alpha(png_);
    }
    if (depth > 8 && bits_ == 8) png_set_strip_16(png_);
    widen_ = depth <= 8 && bits_ == 16;
    png_set_packing(png_);
    num_passes_ = png_set_interlace_handling(png_);
    if (depth > 8 && bits_ == 16) png_set_swap(png_);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    const bool is_grey = (type & PNG_COLOR_MASK_COLOR) == 0;
    if (is_grey && depth < 8) png_set_expand_gray_1_2_4_to_8(png_);
    if (channels_ < 3 && !is_grey) png_set_rgb_to_gray(png_, 1, kRedInGrey, kGreenInGrey);
    if (channels_ >= 3 && is_grey) png_set_gray_to_rgb(png_);
  }

  bool ReadRows(png_bytep pixels) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    const size_t row_bytes =
        static_cast<size_t>(width_) * channels_ * (bits_ == 16 && !widen_ ? 2 : 1);
    if (png_get_rowbytes(png_, info_) != row_bytes) return false;
    for (int pass = 0; pass < num_passes_; ++pass) {
      for (int64_t y = 0; y < height_; ++y) png_read_row(png_, pixels + y * row_bytes, nullptr);
    }
    png_read_end(png_, nullptr);
    return true;
  }

  absl::string_view rest_;
  int channels_;
  const int bits_;
  int64_t width_ = 0, height_ = 0;
  int num_passes_ = 1;
  bool widen_ = false;  // 8 bits in the file, 16 asked for
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PngReader>> PngReader::Open(absl::string_view bytes, int channels,
                                                           int bits) {
  auto reader = std::make_unique<LibPngReader>(bytes, channels, bits);
  if (!reader->ReadHeader()) return absl::InvalidArgumentError("not a valid PNG header");
  return reader;
}

}  // namespace tessera

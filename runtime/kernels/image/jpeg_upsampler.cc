#include "runtime/kernels/image/jpeg_upsampler.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

// clang-format off
#include <jpeglib.h>  // needs FILE
#include <jpegint.h>  // needs the types of jpeglib.h
// clang-format on

namespace tessera {
namespace {

// Pixels that are made at once. Words of 32 pixels are in two vectors, in the order in which
// unpacking leaves them: the lower one has pixels 0 to 7 and 16 to 23, the upper one the others.
constexpr int kPixels = 32;
constexpr int kChannels = 3;
// Stores write whole vectors, of which the last bytes are overwritten by the next one.
constexpr int kExcessBytes = 4;

struct Words {
  __m256i low, high;
};

// How a sample is interpolated from the sums of two rows (three times the nearer one, and the
// farther one): (3 * sum + neighbour + bias) / 16.
struct Biases {
  int16_t left, right;  // of the left pixel of a sample, and of the right one
};
constexpr Biases kOfTwoRows = {8, 7};
// The same for a row and itself: libjpeg rounds (3 * sample + neighbour) / 4 otherwise.
constexpr Biases kOfOneRow = {4, 8};

// Interpolates 16 sums along the row. Returns the samples of 32 pixels, less 128. Reads a sum
// before `sums` too, and one after the 16.
inline Words Interpolate(const uint16_t* sums, const Biases& biases) {
  const auto load = [](const uint16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  };
  constexpr int kCentre = 128 * 16;
  const __m256i sum = load(sums);
  const __m256i triple = _mm256_add_epi16(sum, _mm256_add_epi16(sum, sum));
  const auto blend = [&](const uint16_t* neighbour, int bias) {
    const __m256i offset = _mm256_set1_epi16(static_cast<int16_t>(bias - kCentre));
    const __m256i total = _mm256_add_epi16(triple, _mm256_add_epi16(load(neighbour), offset));
    return _mm256_srai_epi16(total, 4);
  };
  const __m256i left = blend(sums - 1, biases.left), right = blend(sums + 1, biases.right);
  return {_mm256_unpacklo_epi16(left, right), _mm256_unpackhi_epi16(left, right)};
}

struct Colours {
  __m256i red, green, blue;
};

// Converts 16 pixels. The blue and the red difference are less 128. Results may be below 0 or above
// 255. Products with the factors of JFIF (1.402; 0.34414 and 0.71414; 1.772) are rounded as
// libjpeg's, which has 16 bits behind the point and adds a half; whole parts are split off where a
// factor does not fit a word.
inline Colours Convert(__m256i luma, __m256i blue_difference, __m256i red_difference) {
  const auto add = [](__m256i a, __m256i b) { return _mm256_add_epi16(a, b); };
  // 1.402 = 1 + 26345 / 2^16. The high word of twice the product has a bit behind the point.
  const __m256i red_high =
      _mm256_mulhi_epi16(add(red_difference, red_difference), _mm256_set1_epi16(26345));
  const __m256i red_part = _mm256_srai_epi16(add(red_high, _mm256_set1_epi16(1)), 1);
  // 1.772 = 2 - 7471 / 2^15, rounded by the instruction.
  const __m256i blue_part = _mm256_mulhrs_epi16(blue_difference, _mm256_set1_epi16(-7471));
  // -0.34414 = -22554 / 2^16 and -0.71414 = 18734 / 2^16 - 1, in the lower and the upper word.
  const __m256i factors = _mm256_set1_epi32(18734 << 16 | (-22554 & 0xffff));
  const __m256i half = _mm256_set1_epi32(1 << 15);
  const auto green_part = [&](__m256i pairs) {
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_madd_epi16(pairs, factors), half), 16);
  };
  const __m256i green =
      _mm256_packs_epi32(green_part(_mm256_unpacklo_epi16(blue_difference, red_difference)),
                         green_part(_mm256_unpackhi_epi16(blue_difference, red_difference)));
  return {add(add(luma, red_difference), red_part),
          add(_mm256_sub_epi16(luma, red_difference), green),
          add(add(luma, blue_part), add(blue_difference, blue_difference))};
}

// Writes 32 pixels, clamped to bytes, and kExcessBytes more.
inline void Store(const Colours& low, const Colours& high, uint8_t* to) {
  const __m256i red = _mm256_packus_epi16(low.red, high.red);
  const __m256i green = _mm256_packus_epi16(low.green, high.green);
  const __m256i blue = _mm256_packus_epi16(low.blue, high.blue);
  const __m256i zero = _mm256_setzero_si256();
  const __m256i red_green[] = {_mm256_unpacklo_epi8(red, green), _mm256_unpackhi_epi8(red, green)};
  const __m256i blue_zero[] = {_mm256_unpacklo_epi8(blue, zero), _mm256_unpackhi_epi8(blue, zero)};
  // Four pixels a lane, and after them the other half of the 32.
  const __m256i fours[] = {_mm256_unpacklo_epi16(red_green[0], blue_zero[0]),
                           _mm256_unpackhi_epi16(red_green[0], blue_zero[0]),
                           _mm256_unpacklo_epi16(red_green[1], blue_zero[1]),
                           _mm256_unpackhi_epi16(red_green[1], blue_zero[1])};
  const __m256i without_zeros = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const auto store = [&](__m128i four) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), four);
    to += 4 * kChannels;
  };
  __m256i packed[4];
  for (int i = 0; i < 4; ++i) packed[i] = _mm256_shuffle_epi8(fours[i], without_zeros);
  for (const __m256i& four : packed) store(_mm256_castsi256_si128(four));
  for (const __m256i& four : packed) store(_mm256_extracti128_si256(four, 1));
}

class FancyUpsampler final : public JpegUpsampler {
 public:
  explicit FancyUpsampler(j_decompress_ptr info)
      : width_(info->output_width),
        colour_width_(info->comp_info[1].downsampled_width),
        rows_of_group_(info->max_v_samp_factor),
        rows_left_(info->output_height) {
    for (std::vector<uint16_t>& sums : sums_) sums.resize(1 + colour_width_ + kPixels);
    hook_.base = *info->post;
    hook_.base.post_process_data = [](j_decompress_ptr info, JSAMPIMAGE input, JDIMENSION* group,
                                      JDIMENSION /*num_groups*/, JSAMPARRAY output, JDIMENSION* row,
                                      JDIMENSION num_rows) {
      reinterpret_cast<Hook*>(info->post)->upsampler->Process(input, group, output, row, num_rows);
    };
    hook_.upsampler = this;
    info->post = &hook_.base;
  }

 private:
  // Stands in the place of libjpeg's postprocessor, which is known by its first member.
  struct Hook {
    jpeg_d_post_controller base;
    FancyUpsampler* upsampler;
  };

  // Writes rows of one group, those that belong to one row of colours, into output[*row] and what
  // follows, as far as there are `num_rows`, and counts `*row` and `*group` up. libjpeg has the
  // neighbours of the first and of the last row of colours repeat them.
  void Process(JSAMPIMAGE input, JDIMENSION* group, JSAMPARRAY output, JDIMENSION* row,
               JDIMENSION num_rows) {
    for (; *row < num_rows && next_row_ < rows_of_group_ && rows_left_ > 0; ++*row) {
      const int neighbour = rows_of_group_ == 1 ? 0 : next_row_ == 0 ? -1 : 1;
      for (int i = 0; i < 2; ++i) {
        const JSAMPARRAY colour = input[1 + i] + *group;
        AddRows(colour[0], colour[neighbour], sums_[i].data() + 1);
      }
      WriteRow(input[0][*group * rows_of_group_ + next_row_], output[*row]);
      ++next_row_;
      --rows_left_;
    }
    if (next_row_ < rows_of_group_) return;
    next_row_ = 0;
    ++*group;
  }

  // The samples at both ends are their own neighbours.
  void AddRows(const uint8_t* near, const uint8_t* far, uint16_t* sums) const {
    for (int64_t i = 0; i < colour_width_; ++i) {
      sums[i] = static_cast<uint16_t>(3 * near[i] + far[i]);
    }
    sums[-1] = sums[0];
    sums[colour_width_] = sums[colour_width_ - 1];
  }

  void WriteRow(const uint8_t* luma, uint8_t* to) const {
    const Biases biases = rows_of_group_ == 1 ? kOfOneRow : kOfTwoRows;
    int64_t x = 0;
    for (; (x + kPixels) * kChannels + kExcessBytes <= width_ * kChannels; x += kPixels) {
      WritePixels(luma + x, x, biases, to + x * kChannels);
    }
    // Neither samples nor pixels may lie behind the ends of their rows.
    for (; x < width_; x += kPixels) {
      const int64_t count = std::min<int64_t>(kPixels, width_ - x);
      uint8_t samples[kPixels] = {}, pixels[kPixels * kChannels + kExcessBytes];
      std::memcpy(samples, luma + x, count);
      WritePixels(samples, x, biases, pixels);
      std::memcpy(to + x * kChannels, pixels, count * kChannels);
    }
  }

  // Writes kPixels pixels from column `x` on, and kExcessBytes more.
  void WritePixels(const uint8_t* luma, int64_t x, const Biases& biases, uint8_t* to) const {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(luma));
    const __m256i zero = _mm256_setzero_si256();
    const Words blue = Interpolate(sums_[0].data() + 1 + x / 2, biases);
    const Words red = Interpolate(sums_[1].data() + 1 + x / 2, biases);
    Store(Convert(_mm256_unpacklo_epi8(bytes, zero), blue.low, red.low),
          Convert(_mm256_unpackhi_epi8(bytes, zero), blue.high, red.high), to);
  }

  Hook hook_;
  const int64_t width_, colour_width_;
  const int rows_of_group_;
  JDIMENSION rows_left_;
  int next_row_ = 0;  // in the group
  // Sums of two rows of the blue and of the red difference, from the neighbour of the first one on.
  std::array<std::vector<uint16_t>, 2> sums_;
};

// True if libjpeg interpolates the colours of this image, and not the rows of colours alone.
bool IsFancy(const jpeg_decompress_struct& info) {
  const jpeg_component_info* const parts = info.comp_info;
  const int rows = info.max_v_samp_factor;
  if (info.max_h_samp_factor != 2 || rows > 2 || parts[0].h_samp_factor != 2 ||
      parts[0].v_samp_factor != rows || (rows == 2 && !info.upsample->need_context_rows)) {
    return false;
  }
  for (int i = 0; i < 3; ++i) {
    if (parts[i].DCT_scaled_size != DCTSIZE) return false;
    if (i > 0 && (parts[i].h_samp_factor != 1 || parts[i].v_samp_factor != 1)) return false;
  }
  // libjpeg repeats the samples of narrower images.
  return info.do_fancy_upsampling && parts[1].downsampled_width > 2;
}

}  // namespace

std::unique_ptr<JpegUpsampler> JpegUpsampler::Install(j_decompress_ptr info) {
  if (info->num_components != 3 || info->jpeg_color_space != JCS_YCbCr ||
      info->out_color_space != JCS_RGB || info->quantize_colors || !IsFancy(*info)) {
    return nullptr;
  }
  return std::make_unique<FancyUpsampler>(info);
}

}  // namespace tessera

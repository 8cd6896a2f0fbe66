#include "runtime/kernels/image/image_jpeg.h"

#include <cstdio>
#include <random>
#include <string>
#include <vector>

// clang-format off
#include <jpeglib.h>  // needs FILE
// clang-format on

#include "gtest/gtest.h"
#include "runtime/kernels/image/testing/random_jpeg.h"

namespace tessera {
namespace {

struct Form {
  int channels;
  // Of the first component, where the others have 1: how much the resolution of colours is lower.
  int horizontal = 1, vertical = 1;
  bool is_progressive = false;
  int restart_rows = 0;
};

constexpr Form kForms[] = {
    {.channels = 1},
    {.channels = 3},
    {.channels = 3, .horizontal = 2},
    {.channels = 3, .vertical = 2},
    {.channels = 3, .horizontal = 2, .vertical = 2},
    {.channels = 3, .horizontal = 4},
    {.channels = 3, .horizontal = 2, .vertical = 2, .is_progressive = true},
    {.channels = 3, .horizontal = 2, .vertical = 2, .restart_rows = 1},
    {.channels = 4},
};

// A picture of colours that are far from each other.
std::string MakeJpeg(int height, int width, const Form& form) {
  return MakeRandomJpeg({.height = height,
                         .width = width,
                         .channels = form.channels,
                         .samples = form.channels == 1   ? JCS_GRAYSCALE
                                    : form.channels == 3 ? JCS_RGB
                                                         : JCS_CMYK,
                         .horizontal = form.horizontal,
                         .vertical = form.vertical,
                         .is_progressive = form.is_progressive,
                         .restart_rows = form.restart_rows});
}

struct Image {
  int64_t height, width;
  int channels;
  std::vector<uint8_t> pixels;
};

Image ReadWhole(const std::string& bytes, const JpegOptions& options) {
  const auto reader = JpegReader::Open(bytes, options).value();
  Image image{reader->height(), reader->width(), reader->channels(), {}};
  image.pixels.resize(image.height * image.width * image.channels);
  EXPECT_TRUE(reader->Read(image.pixels.data()).ok());
  return image;
}

std::vector<uint8_t> Cut(const Image& image, const JpegWindow& window) {
  std::vector<uint8_t> pixels;
  for (int64_t y = window.y; y < window.y + window.height; ++y) {
    const auto row = image.pixels.begin() + (y * image.width + window.x) * image.channels;
    pixels.insert(pixels.end(), row, row + window.width * image.channels);
  }
  return pixels;
}

std::vector<uint8_t> ReadWindow(const std::string& bytes, const JpegOptions& options,
                                const JpegWindow& window) {
  const auto reader = JpegReader::Open(bytes, options).value();
  std::vector<uint8_t> pixels(window.height * window.width * reader->channels());
  EXPECT_TRUE(reader->ReadWindow(window, pixels.data()).ok());
  return pixels;
}

// Leaves out the first and the last pixel of each row.
void RemoveEdges(int64_t width, int channels, std::vector<uint8_t>* pixels) {
  std::vector<uint8_t> rest;
  for (size_t i = 0; i < pixels->size(); ++i) {
    const int64_t x = static_cast<int64_t>(i) / channels % width;
    if (x > 0 && x < width - 1) rest.push_back((*pixels)[i]);
  }
  *pixels = std::move(rest);
}

TEST(JpegReaderTest, AWindowHasThePixelsOfTheWhole) {
  std::mt19937 random(1);
  for (const Form& form : kForms) {
    for (const auto& [height, width] : {std::pair(1, 1), {5, 40}, {70, 9}, {100, 131}}) {
      const std::string bytes = MakeJpeg(height, width, form);
      for (const JpegOptions& options :
           {JpegOptions(), JpegOptions{.channels = 1}, JpegOptions{.fancy_upscaling = false},
            JpegOptions{.fast_dct = false}, JpegOptions{.ratio = 2}, JpegOptions{.ratio = 8},
            JpegOptions{.try_recover_truncated = true}}) {
        if (form.channels == 4 && options.channels == 1) continue;  // inks are not made grey
        const Image whole = ReadWhole(bytes, options);
        for (int i = 0; i < 12; ++i) {
          JpegWindow window;
          window.y = static_cast<int64_t>(random() % whole.height);
          window.x = static_cast<int64_t>(random() % whole.width);
          window.height = 1 + static_cast<int64_t>(random() % (whole.height - window.y));
          window.width = 1 + static_cast<int64_t>(random() % (whole.width - window.x));
          if (i % 5 == 0) window.x = 0, window.width = whole.width;
          if (i % 7 == 0) window.y = 0, window.height = whole.height;
          std::vector<uint8_t> found = ReadWindow(bytes, options, window);
          std::vector<uint8_t> wanted = Cut(whole, window);
          if (form.horizontal > 1 && options.fancy_upscaling) {
            RemoveEdges(window.width, whole.channels, &found);
            RemoveEdges(window.width, whole.channels, &wanted);
          }
          ASSERT_EQ(found, wanted)
              << "window [" << window.y << ", " << window.x << ", " << window.height << ", "
              << window.width << "] of " << whole.height << "x" << whole.width << ", "
              << form.channels << " channels, sampled " << form.horizontal << "x" << form.vertical
              << ", ratio " << options.ratio << ", fancy " << options.fancy_upscaling;
        }
      }
    }
  }
}

TEST(JpegReaderTest, ATruncatedImageIsRecoveredWhereItIsAsked) {
  for (const Form& form : kForms) {
    const std::string bytes = MakeJpeg(64, 48, form);
    const JpegOptions recovers = {.try_recover_truncated = true};
    const Image whole = ReadWhole(bytes, {});
    // Only the marker of the end is missing.
    const std::string without_end = bytes.substr(0, bytes.size() - 2);
    EXPECT_EQ(ReadWhole(without_end, recovers).pixels, whole.pixels);
    std::vector<uint8_t> pixels(whole.pixels.size());
    EXPECT_FALSE(JpegReader::Open(without_end, {}).value()->Read(pixels.data()).ok());
    const Image half = ReadWhole(bytes.substr(0, bytes.size() * 3 / 4), recovers);
    EXPECT_TRUE(
        std::equal(half.pixels.begin(), half.pixels.begin() + 8 * 48, whole.pixels.begin()) ||
        form.is_progressive)
        << "the first rows";
  }
}

TEST(JpegReaderTest, RowsMayLackIfAPartOfThemIsAcceptable) {
  constexpr int64_t kHeight = 64;
  for (const Form& form : kForms) {
    const std::string bytes = MakeJpeg(kHeight, 48, form);
    const Image whole = ReadWhole(bytes, {});
    const int64_t row_bytes = whole.width * whole.channels;
    // The last cut leaves all pixels, but not the marker of the end.
    for (const size_t size : {bytes.size() * 3 / 4, bytes.size() - 2}) {
      const std::string cut = bytes.substr(0, size);
      std::vector<uint8_t> pixels(whole.pixels.size(), 1);
      const auto read = [&](float fraction) {
        const JpegOptions options = {.acceptable_fraction = fraction};
        return JpegReader::Open(cut, options).value()->Read(pixels.data()).ok();
      };
      // A progressive image has all rows or none.
      ASSERT_EQ(read(0.1f), !form.is_progressive);
      EXPECT_FALSE(read(1));
      if (form.is_progressive || !read(0.1f)) continue;
      const auto first = std::mismatch(pixels.begin(), pixels.end(), whole.pixels.begin()).first;
      const int64_t rows = (first - pixels.begin()) / row_bytes;
      EXPECT_GT(rows, 0);
      EXPECT_LT(rows, kHeight);
      EXPECT_TRUE(std::all_of(pixels.begin() + rows * row_bytes, pixels.end(),
                              [](uint8_t sample) { return sample == 0; }))
          << "rows behind the first " << rows << " of " << kHeight;
      EXPECT_TRUE(read(static_cast<float>(rows) / kHeight));
      EXPECT_FALSE(read(static_cast<float>(rows + 1) / kHeight));
    }
  }
}

TEST(JpegReaderTest, OnlyWhatIsAboveTheEndOfTheWindowMustBeThere) {
  const std::string whole = MakeJpeg(128, 64, kForms[4]);
  const std::string half = whole.substr(0, whole.size() / 2);
  for (const auto& [y, is_there] : {std::pair(8, true), {112, false}}) {
    const auto reader = JpegReader::Open(half, {}).value();
    std::vector<uint8_t> pixels(8 * 8 * 3);
    const absl::Status status = reader->ReadWindow({y, 8, 8, 8}, pixels.data());
    EXPECT_EQ(status.code(), is_there ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument);
  }
}

TEST(JpegReaderTest, WindowsOfDamagedFilesGiveAnErrorOrAnImage) {
  std::mt19937 random(1);
  for (const Form& form : kForms) {
    const std::string whole = MakeJpeg(60, 50, form);
    for (int i = 0; i < 300; ++i) {
      std::string damaged = whole;
      for (size_t n = 1 + random() % 3; n > 0; --n) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      const auto reader = JpegReader::Open(damaged, {});
      if (!reader.ok() || (*reader)->height() * (*reader)->width() > 1 << 20) continue;
      const JpegWindow window{(*reader)->height() / 2, (*reader)->width() / 3, 1, 2};
      if (window.x + 2 > (*reader)->width()) continue;
      std::vector<uint8_t> pixels(2 * (*reader)->channels());
      const absl::Status status = (*reader)->ReadWindow(window, pixels.data());
      EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kInvalidArgument) << status;
    }
  }
}

}  // namespace
}  // namespace tessera

#include "runtime/kernels/image/image_gif.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHeight = 3, kWidth = 5, kSamples = kHeight * kWidth * 3;
// Where the only frame stands in the file, and its size in it.
constexpr size_t kFrame = 37, kFrameWidth = kFrame + 8 + 5;

// One frame of three rows of five pixels.
std::string Gif() {
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(
      "R0lGODlhBQADAIIAAMTho6nEyM2YrpC0PLlGpIU6rbEgqgAAACH5BAAEAAAALAAAAAAFAAMA"
      "AAgSAAMUIGAgwIACAgYYABCAQMOAADs=",
      &bytes));
  return bytes;
}

struct Decoding {
  absl::Status status;
  int64_t frames = 0;  // 0 until memory is asked for
};

Decoding Decode(const std::string& bytes, bool only_first, int64_t max_samples) {
  Decoding result;
  std::vector<uint8_t> pixels;
  result.status =
      DecodeGif(bytes, only_first, max_samples, [&](int64_t frames, int64_t height, int64_t width) {
        result.frames = frames;
        pixels.resize(static_cast<size_t>(frames * height * width * 3));
        return pixels.data();
      });
  return result;
}

void ExpectTooLarge(const Decoding& decoding) {
  EXPECT_EQ(decoding.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(decoding.status.message()), HasSubstr("too large"));
  EXPECT_EQ(decoding.frames, 0);
}

TEST(ImageGifTest, FramesThatAreTooLargeTogetherAreRefused) {
  std::string twice = Gif();
  twice.insert(twice.size() - 1, twice.substr(kFrame, twice.size() - kFrame - 1));
  EXPECT_EQ(Decode(twice, false, 2 * kSamples).frames, 2);
  ExpectTooLarge(Decode(twice, false, 2 * kSamples - 1));
  // The later frame takes no memory.
  const Decoding first = Decode(twice, true, kSamples);
  EXPECT_TRUE(first.status.ok()) << first.status;
  EXPECT_EQ(first.frames, 1);
  ExpectTooLarge(Decode(twice, true, kSamples - 1));
}

// The data of such a frame would unpack to gigabytes before its size could be seen.
TEST(ImageGifTest, AFrameIsRefusedForTheSizeThatItClaims) {
  std::string huge = Gif();
  huge.replace(kFrameWidth, 4, 4, '\xff');
  ExpectTooLarge(Decode(huge, false, int64_t{1} << 30));
  ExpectTooLarge(Decode(huge, true, int64_t{1} << 30));
}

}  // namespace
}  // namespace tessera

#include <cstring>
#include <limits>
#include <random>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::string Decode64(absl::string_view text) {
  std::string bytes;
  EXPECT_TRUE(absl::Base64Unescape(text, &bytes));
  return bytes;
}

// Three rows of two pixels: red, lime; blue, 10 20 30; 200 100 50, 7 8 9.
std::string Png() {
  return Decode64(
      "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAHUlEQVQImWP4z8DA8J+BgYHhP5eIHMOJFCN2"
      "Dk4AOIgEsL2mAcMAAAAASUVORK5CYII=");
}
// Eight rows of eight pixels of grey 76.
std::string Jpeg() {
  return Decode64(
      "/9j/4AAQSkZJRgABAQEBLAEsAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxO"
      "QERXRTc4UG1RV19iZ2hnPk1xeXBkeFxlZ2P/wAALCAAIAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAABf/E"
      "ABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AFf/Z");
}
// One frame of three rows of five pixels.
std::string Gif() {
  return Decode64(
      "R0lGODlhBQADAIIAAMTho6nEyM2YrpC0PLlGpIU6rbEgqgAAACH5BAAEAAAALAAAAAAFAAMAAAgSAAMUIGAg"
      "wIACAgYYABCAQMOAADs=");
}
// Two rows of one pixel from the bottom, 24 bits each, rows padded to four bytes.
std::string Bmp(int32_t width = 1, int32_t height = 2) {
  std::string bytes(54, '\0');
  bytes[0] = 'B', bytes[1] = 'M', bytes[10] = 54, bytes[14] = 40, bytes[26] = 1, bytes[28] = 24;
  for (int i = 0; i < 4; ++i) {
    bytes[18 + i] = static_cast<char>(width >> 8 * i);
    bytes[22 + i] = static_cast<char>(height >> 8 * i);
  }
  return bytes + std::string("\x03\x02\x01\x00\x06\x05\x04\x00", 8);
}

absl::StatusOr<Tensor> Decode(const char* op, std::string bytes, AttrMap attrs = {}) {
  return RunOp(op, {Tensor::Scalar(std::move(bytes))}, std::move(attrs));
}

TEST(DecodeImageTest, EachFormatIsRecognised) {
  const Tensor png = Decode("DecodeImage", Png()).value();
  EXPECT_EQ(png.shape(), (Shape{3, 2, 3}));
  EXPECT_THAT(png.flat<uint8_t>(),
              ElementsAre(255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 200, 100, 50, 7, 8, 9));
  const Tensor jpeg = Decode("DecodeImage", Jpeg()).value();
  EXPECT_EQ(jpeg.shape(), (Shape{8, 8, 1}));
  EXPECT_THAT(jpeg.flat<uint8_t>(), Each(76));
  const Tensor gif = Decode("DecodeImage", Gif()).value();
  EXPECT_EQ(gif.shape(), (Shape{1, 3, 5, 3}));
  EXPECT_EQ(gif.flat<uint8_t>()[0], 169);
  const Tensor bmp = Decode("DecodeImage", Bmp()).value();
  EXPECT_EQ(bmp.shape(), (Shape{2, 1, 3}));
  EXPECT_THAT(bmp.flat<uint8_t>(), ElementsAre(4, 5, 6, 1, 2, 3));
}

TEST(DecodeImageTest, TheFramesOfAGifAreItsCanvas) {
  std::string narrow = Gif();
  narrow[6] = 4;  // the width of its screen
  EXPECT_EQ(Decode("DecodeGif", narrow)->shape(), (Shape{1, 3, 5, 3}));
}

TEST(DecodeImageTest, AGifNeedsNoEnd) {
  const std::string whole = Gif();
  const Tensor image = Decode("DecodeGif", whole).value();
  const auto cut = Decode("DecodeGif", whole.substr(0, whole.size() - 1));
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_EQ(std::memcmp(cut->raw(), image.raw(), image.size_bytes()), 0);
  EXPECT_FALSE(Decode("DecodeGif", whole.substr(0, whole.size() - 8)).ok());
  // The frame stands between the table of colours and the last byte.
  const std::string frame = whole.substr(37, whole.size() - 38);
  std::string twice = whole;
  twice.insert(whole.size() - 1, frame);
  EXPECT_EQ(Decode("DecodeGif", twice)->dim(0), 2);
  for (size_t cut = 4; cut < frame.size(); ++cut) {
    const auto first = Decode("DecodeGif", twice.substr(0, twice.size() - cut));
    ASSERT_TRUE(first.ok()) << first.status() << " without the last " << cut << " bytes";
    EXPECT_EQ(std::memcmp(first->raw(), image.raw(), image.size_bytes()), 0);
    EXPECT_EQ(first->dim(0), 1) << "without the last " << cut << " bytes";
  }
}

TEST(DecodeImageTest, GreyIsMadeOfColours) {
  const Tensor grey = Decode("DecodePng", Png(), {{"channels", 1}}).value();
  // 0.299 red + 0.587 green + 0.114 blue, cut.
  EXPECT_THAT(grey.flat<uint8_t>(), ElementsAre(76, 149, 29, 18, 124, 7));
}

TEST(DecodeImageTest, SixteenBitsAndFloatsSpanTheirRange) {
  const Tensor wide = Decode("DecodePng", Png(), {{"dtype", DType::kUint16}}).value();
  EXPECT_EQ(wide.flat<uint16_t>()[0], 65535);
  EXPECT_EQ(wide.flat<uint16_t>()[9], 10 * 257);
  const Tensor floats = Decode("DecodeImage", Png(), {{"dtype", DType::kFloat}}).value();
  EXPECT_EQ(floats.flat<float>()[0], 1.0f);
  EXPECT_FLOAT_EQ(floats.flat<float>()[9], 10.0f / 255);
}

TEST(DecodeImageTest, AFormatThatTheOpIsNotForIsRefused) {
  for (const auto& [op, bytes] : {std::pair("DecodeBmp", Png()),
                                  {"DecodePng", Bmp()},
                                  {"DecodeJpeg", std::string("RIFF")},
                                  {"DecodePng", ""}}) {
    EXPECT_EQ(Decode(op, bytes).status().code(), absl::StatusCode::kInvalidArgument) << op;
  }
}

TEST(DecodeImageTest, SizesBeyondTheFileAreRefused) {
  constexpr int32_t kHuge = 1 << 30;
  for (const auto& [width, height] : {std::pair(kHuge, kHuge),
                                      {2, 2},
                                      {1, 3},
                                      {-1, 2},
                                      {1, 0},
                                      {1, std::numeric_limits<int32_t>::min()}}) {
    EXPECT_EQ(Decode("DecodeBmp", Bmp(width, height)).status().code(),
              absl::StatusCode::kInvalidArgument)
        << width << " x " << height;
  }
}

TEST(DecodeImageTest, DamagedFilesGiveAnErrorOrAnImage) {
  std::mt19937 random(1);
  for (const std::string& whole : {Png(), Jpeg(), Gif(), Bmp()}) {
    for (size_t length = 0; length + 2 < whole.size(); ++length) {
      const absl::Status status = Decode("DecodeImage", whole.substr(0, length)).status();
      if (!status.ok()) {
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      }
    }
    for (int i = 0; i < 500; ++i) {
      std::string damaged = whole;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      const absl::Status status = Decode("DecodeImage", std::move(damaged)).status();
      if (!status.ok()) {
        EXPECT_NE(status.code(), absl::StatusCode::kInternal) << status;
      }
    }
  }
}

TEST(DecodeImageTest, ATruncatedJpegIsFilledUpIfThatIsWanted) {
  const std::string cut = Jpeg().substr(0, Jpeg().size() - 4);
  EXPECT_EQ(Decode("DecodeJpeg", cut).status().code(), absl::StatusCode::kInvalidArgument);
  const AttrMap recover = {{"try_recover_truncated", true}, {"acceptable_fraction", 0.0f}};
  EXPECT_EQ(Decode("DecodeJpeg", cut, recover).value().shape(), (Shape{8, 8, 1}));
}

}  // namespace
}  // namespace tessera

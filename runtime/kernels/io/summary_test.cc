#include <cmath>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "runtime/kernels/image/image_png.h"
#include "runtime/kernels/testing/kernel_runner.h"
#include "tensorflow/core/framework/summary.pb.h"

namespace tessera {
namespace {

using tensorflow::Summary;

Summary Parse(const absl::StatusOr<Tensor>& bytes) {
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  Summary summary;
  if (!bytes.ok()) return summary;
  EXPECT_TRUE(summary.ParseFromString(bytes->scalar<std::string>()));
  return summary;
}

Tensor Text(const char* text) { return Tensor::Scalar(std::string(text)); }

std::vector<uint8_t> Pixels(const Summary::Image& image) {
  const auto png = PngReader::Open(image.encoded_image_string(), 0, 8).value();
  EXPECT_EQ(png->width(), image.width());
  EXPECT_EQ(png->height(), image.height());
  EXPECT_EQ(png->channels(), image.colorspace());
  std::vector<uint8_t> pixels(png->width() * png->height() * png->channels());
  EXPECT_TRUE(png->Read(pixels.data()).ok());
  return pixels;
}

TEST(SummaryTest, HistogramsRefuseWhatIsNotFinite) {
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, infinity, -infinity}) {
    const auto result = RunOp("HistogramSummary", {Text("t"), Tensor::Vector<float>({1, bad})});
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  }
  const Summary empty = Parse(RunOp("HistogramSummary", {Text("t"), Tensor::Vector<float>({})}));
  EXPECT_EQ(empty.value(0).histo().num(), 0);
  EXPECT_FALSE(RunOp("HistogramSummary",
                     {Tensor::Vector<std::string>({"a", "b"}), Tensor::Vector<float>({1})})
                   .ok());
}

// 0.1 * 0.1 + 0.3 * 0.3 is less than 0.1 if the second square is not rounded before it is added.
TEST(SummaryTest, SquaresOfHistogramsAreRoundedOneByOne) {
  const Summary summary =
      Parse(RunOp("HistogramSummary", {Text("t"), Tensor::Vector<double>({0.1, 0.3})}));
  EXPECT_EQ(summary.value(0).histo().sum_squares(), 0.1);
}

// What TensorFlow makes of these pixels.
TEST(SummaryTest, ImagesAreScaledToBytes) {
  const auto image = [](std::initializer_list<float> values) {
    return Tensor::Of<float>({1, 1, static_cast<int64_t>(values.size()), 1},
                             std::vector<float>(values));
  };
  const auto pixels = [&](const Tensor& tensor) {
    return Pixels(Parse(RunOp("ImageSummary", {Text("t"), tensor})).value(0).image());
  };
  const float nan = std::nanf("");
  EXPECT_EQ(pixels(image({0, 1, 2, 4})), (std::vector<uint8_t>{0, 63, 127, 255}));
  EXPECT_EQ(pixels(image({-1, 0, 0.5})), (std::vector<uint8_t>{1, 128, 191}));
  EXPECT_EQ(pixels(image({nan, 1, 2})), (std::vector<uint8_t>{255, 127, 255}));
  EXPECT_EQ(pixels(image({0, 1e-7f})), (std::vector<uint8_t>{0, 0}));
  EXPECT_EQ(pixels(image({nan, nan})), (std::vector<uint8_t>{255, 255}));
}

// TensorFlow divides floats for the scale of doubles, and computes in double with it.
TEST(SummaryTest, TheScaleOfImagesOfDoubleIsAFloat) {
  const auto first_pixel = [](double first, double second) {
    const Tensor image = Tensor::Of<double>({1, 1, 2, 1}, {first, second});
    return Pixels(Parse(RunOp("ImageSummary", {Text("t"), image})).value(0).image())[0];
  };
  EXPECT_EQ(first_pixel(49, 0), 254) << "255 / 49 * 49 is 255 in double";
  EXPECT_EQ(first_pixel(13, 0), 255);
  EXPECT_EQ(first_pixel(49, -1), 254);
  EXPECT_EQ(first_pixel(11, -3), 255);
  EXPECT_EQ(first_pixel(145.37140923419403, 0), 254) << "the divisor is rounded, too";
}

TEST(SummaryTest, TagsOfImagesAreNumbered) {
  const Tensor images = Tensor::Of<uint8_t>({3, 1, 1, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Summary two =
      Parse(RunOp("ImageSummary", {Text("t"), images}, {{"max_images", int64_t{2}}}));
  ASSERT_EQ(two.value_size(), 2);
  EXPECT_EQ(two.value(0).tag(), "t/image/0");
  EXPECT_EQ(two.value(1).tag(), "t/image/1");
  EXPECT_EQ(Pixels(two.value(1).image()), (std::vector<uint8_t>{4, 5, 6}));
  const Summary one =
      Parse(RunOp("ImageSummary", {Text("t"), images}, {{"max_images", int64_t{1}}}));
  ASSERT_EQ(one.value_size(), 1);
  EXPECT_EQ(one.value(0).tag(), "t/image");
}

TEST(SummaryTest, ImagesOfOtherShapesAreRefused) {
  for (const Shape& shape : {Shape{1, 2, 2, 2}, Shape{2, 2, 3}, Shape{0, 0, 0, 0}}) {
    const Tensor images = Tensor::Zeros(DType::kFloat, shape).value();
    EXPECT_FALSE(RunOp("ImageSummary", {Text("t"), images}).ok()) << shape.ToString();
  }
  const Tensor rgb = Tensor::Zeros(DType::kFloat, {1, 1, 1, 3}).value();
  EXPECT_FALSE(
      RunOp("ImageSummary", {Text("t"), rgb}, {{"bad_color", Tensor::Vector<uint8_t>({1, 2})}})
          .ok());
  const Tensor no_pixels = Tensor::Zeros(DType::kFloat, {1, 0, 5, 3}).value();
  EXPECT_FALSE(RunOp("ImageSummary", {Text("t"), no_pixels}).ok());
  const Tensor no_images = Tensor::Zeros(DType::kFloat, {0, 5, 5, 3}).value();
  EXPECT_EQ(Parse(RunOp("ImageSummary", {Text("t"), no_images})).value_size(), 0);
}

TEST(SummaryTest, SoundsAreWavFiles) {
  const Tensor sounds = Tensor::Of<float>({1, 2, 2}, {0, 1, -1, 0.5});
  const Summary summary =
      Parse(RunOp("AudioSummaryV2", {Text("t"), sounds, Tensor::Scalar(8000.0f)}));
  ASSERT_EQ(summary.value_size(), 1);
  EXPECT_EQ(summary.value(0).tag(), "t/audio/0");
  const Summary::Audio& audio = summary.value(0).audio();
  EXPECT_EQ(audio.num_channels(), 2);
  EXPECT_EQ(audio.length_frames(), 2);
  const std::string& wav = audio.encoded_audio_string();
  ASSERT_EQ(wav.size(), 44 + 8);
  EXPECT_EQ(wav.substr(0, 4), "RIFF");
  EXPECT_EQ(wav.substr(44), std::string("\x00\x00\xff\x7f\x00\x80\x00\x40", 8));
  for (const float rate : {0.0f, -1.0f, std::nanf("")}) {
    EXPECT_FALSE(RunOp("AudioSummaryV2", {Text("t"), sounds, Tensor::Scalar(rate)}).ok());
  }
  EXPECT_FALSE(
      RunOp("AudioSummaryV2", {Text("t"), Tensor::Vector<float>({1}), Tensor::Scalar(8000.0f)})
          .ok());
}

TEST(SummaryTest, MergeRefusesATagTwiceAndWhatIsNoSummary) {
  const Tensor a = RunOp("ScalarSummary", {Text("a"), Tensor::Scalar(1.0f)}).value();
  const Tensor b = RunOp("ScalarSummary", {Text("b"), Tensor::Scalar(2.0f)}).value();
  const Summary merged = Parse(RunOp("MergeSummary", {a, b}));
  ASSERT_EQ(merged.value_size(), 2);
  EXPECT_EQ(merged.value(1).simple_value(), 2);
  EXPECT_FALSE(RunOp("MergeSummary", {a, a}).ok());
  EXPECT_FALSE(RunOp("MergeSummary", {a, Text("\xff")}).ok());
}

TEST(EncodePngTest, EncodesABatchAndRefusesOtherShapes) {
  const Tensor images = Tensor::Of<uint16_t>({2, 1, 2, 1}, {1, 256, 65535, 0});
  const Tensor files = RunOp("EncodePng", {images}).value();
  ASSERT_EQ(files.shape(), Shape({2}));
  const auto png = PngReader::Open(files.flat<std::string>()[1], 0, 16).value();
  std::vector<uint16_t> pixels(2);
  ASSERT_TRUE(png->Read(pixels.data()).ok());
  EXPECT_EQ(pixels, (std::vector<uint16_t>{65535, 0}));
  for (const Shape& shape : {Shape{2, 2}, Shape{1, 1, 5}, Shape{0, 1, 1}, Shape{1, 1, 0}}) {
    const Tensor wrong = Tensor::Zeros(DType::kUint8, shape).value();
    EXPECT_FALSE(RunOp("EncodePng", {wrong}).ok()) << shape.ToString();
  }
  EXPECT_FALSE(RunOp("EncodePng", {images}, {{"compression", int64_t{10}}}).ok());
}

}  // namespace
}  // namespace tessera

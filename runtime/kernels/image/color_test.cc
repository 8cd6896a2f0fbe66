// Conversions of colours in types of 16 bits, which round each step: the numbers are TensorFlow's.
#include <gtest/gtest.h>

#include <vector>

#include "Eigen/Core"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

template <typename T>
std::vector<float> Converted(absl::string_view op, const std::vector<float>& pixels) {
  std::vector<T> values;
  for (const float x : pixels) values.push_back(static_cast<T>(x));
  const Tensor images = Tensor::Of<T>(Shape{static_cast<int64_t>(values.size()) / 3, 3}, values);
  const Tensor y = RunOp(op, {images}).value();
  std::vector<float> converted;
  for (const T x : y.flat<T>()) converted.push_back(static_cast<float>(x));
  return converted;
}

const std::vector<float> kPixels = {0.792969f, 3.35938f, 0.5625f, 0.3f, 0.7f,
                                    0.9f,      0.62f,    0.11f,   0.45f};

TEST(ColorTest, HsvToRgbRoundsEachStep) {
  EXPECT_EQ(Converted<Eigen::bfloat16>("HSVToRGB", kPixels),
            std::vector<float>({0.087890625f, -1.328125f, 0.5625f, 0.392578125f, 0.8984375f,
                                0.26953125f, 0.400390625f, 0.4140625f, 0.44921875f}));
  EXPECT_EQ(
      Converted<Eigen::half>("HSVToRGB", kPixels),
      std::vector<float>({0.1043701171875f, -1.3271484375f, 0.5625f, 0.3955078125f, 0.89990234375f,
                          0.269775390625f, 0.400634765625f, 0.414306640625f, 0.449951171875f}));
}

TEST(ColorTest, RgbToHsvRoundsEachStep) {
  EXPECT_EQ(Converted<Eigen::bfloat16>("RGBToHSV", kPixels),
            std::vector<float>({0.3203125f, 0.83203125f, 3.359375f, 0.5546875f, 0.6640625f,
                                0.8984375f, 0.890625f, 0.82421875f, 0.62109375f}));
  EXPECT_EQ(Converted<Eigen::half>("RGBToHSV", kPixels),
            std::vector<float>({0.319580078125f, 0.83251953125f, 3.359375f, 0.55517578125f,
                                0.66650390625f, 0.89990234375f, 0.88916015625f, 0.82275390625f,
                                0.6201171875f}));
}

// Pixels are computed in blocks, of which the last one is not full.
template <typename T>
void ExpectPixelsByThemselves(absl::string_view op) {
  std::vector<float> pixels;
  for (int i = 0; i < 3 * 131; ++i) pixels.push_back(static_cast<float>(i * 7919 % 1000) * 1e-3f);
  const std::vector<float> together = Converted<T>(op, pixels);
  for (size_t first = 0; first < pixels.size(); first += 3) {
    const auto of_pixel = [first](const std::vector<float>& all) {
      return std::vector<float>(&all[first], &all[first] + 3);
    };
    EXPECT_EQ(Converted<T>(op, of_pixel(pixels)), of_pixel(together))
        << op << " of pixel " << first / 3;
  }
}

TEST(ColorTest, PixelsDoNotDependOnTheirNeighbours) {
  for (const absl::string_view op : {"HSVToRGB", "RGBToHSV"}) {
    ExpectPixelsByThemselves<float>(op);
    ExpectPixelsByThemselves<double>(op);
    ExpectPixelsByThemselves<Eigen::half>(op);
  }
}

}  // namespace
}  // namespace tessera

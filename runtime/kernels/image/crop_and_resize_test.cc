#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

constexpr float kOutside = 9;

// The last row of a crop of `rows` of the box from `top` to the bottom of an image of pixels 1.
float LastRow(int64_t height, float top, int32_t rows) {
  Tensor image = Tensor::Allocate(DType::kFloat, {1, height, 1, 1}).value();
  for (float& v : image.flat<float>()) v = 1;
  Tensor box = Tensor::Allocate(DType::kFloat, {1, 4}).value();
  const std::vector<float> corners = {top, 0, 1, 1};
  std::copy(corners.begin(), corners.end(), box.flat<float>().begin());
  const Tensor crop =
      RunOp("CropAndResize",
            {image, box, Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({rows, 1})},
            {{"extrapolation_value", kOutside}})
          .value();
  return crop.flat<float>()[rows - 1];
}

// 0.13 * 3 + 3 * (0.87 * 3 / 3) rounds to 3, the last row, but lies above it if the product is not
// rounded; 0.2 * 2 + 3 * (0.8 * 2 / 3) the other way round. Values are TensorFlow's.
TEST(CropAndResizeTest, TheEdgeOfTheImageIsWhereRoundedPositionsEnd) {
  EXPECT_EQ(LastRow(4, 0.13f, 4), 1);
  EXPECT_EQ(LastRow(3, 0.2f, 4), kOutside);
}

TEST(CropAndResizeTest, BoxesThatAreNotFiniteAreRefused) {
  const Tensor image = Tensor::Zeros(DType::kFloat, {1, 2, 2, 0}).value();
  for (const float corner : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    const auto crop =
        RunOp("CropAndResize", {image, Tensor::Of<float>({1, 4}, {0, 0, corner, 1}),
                                Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({2, 2})});
    EXPECT_EQ(crop.status().code(), absl::StatusCode::kInvalidArgument) << corner;
  }
}

TEST(CropAndResizeTest, ImagesWhosePixelsFloatsCannotCountAreRefused) {
  const Tensor image = Tensor::Zeros(DType::kUint8, {1, (1 << 24) + 4, 1, 1}).value();
  Tensor box = Tensor::Allocate(DType::kFloat, {1, 4}).value();
  for (float& v : box.flat<float>()) v = 1;
  const auto crop = RunOp(
      "CropAndResize", {image, box, Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({1, 1})});
  EXPECT_EQ(crop.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera

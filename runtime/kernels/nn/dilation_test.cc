// The expected numbers are TensorFlow's.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();

using Floats = std::vector<float>;

// Dilation2D or a gradient of it, of a row of pixels by a filter of zeros.
Floats Dilate(const std::string& op, const Floats& row, const Shape& filter, int64_t rate,
              const std::string& padding, const Floats& gradients = {}) {
  std::vector<Tensor> inputs = {Tensor::Of<float>({1, 1, static_cast<int64_t>(row.size()), 1}, row),
                                Tensor::Zeros(DType::kFloat, filter).value()};
  if (!gradients.empty()) {
    const auto size = static_cast<int64_t>(gradients.size());
    inputs.push_back(Tensor::Of<float>({1, 1, size, 1}, gradients));
  }
  const std::vector<int64_t> ones = {1, 1, 1, 1}, rates = {1, rate, rate, 1};
  const Tensor y =
      RunOp(op, inputs, {{"strides", ones}, {"rates", rates}, {"padding", padding}}).value();
  return {y.flat<float>().begin(), y.flat<float>().end()};
}

TEST(DilationTest, SumsThatAreNotAboveTheLowestNumberAreLeftOut) {
  EXPECT_EQ(Dilate("Dilation2D", {kNan, 1, 2}, {1, 2, 1}, 1, "VALID"), (Floats{1, 2}));
  EXPECT_EQ(Dilate("Dilation2D", {1, kNan, 2}, {1, 2, 1}, 1, "VALID"), (Floats{1, 2}));
  const Floats none = {-kInfinity, kNan, -kInfinity};
  EXPECT_EQ(Dilate("Dilation2D", none, {1, 2, 1}, 1, "VALID"), (Floats{kLowest, kLowest}));
}

TEST(DilationTest, GradientsOfWindowsWithoutMaximumGoToTheFirstElements) {
  const Floats none = {-kInfinity, kNan, -kInfinity};
  EXPECT_EQ(Dilate("Dilation2DBackpropInput", none, {1, 2, 1}, 1, "VALID", {5, 7}),
            (Floats{5, 7, 0}));
  EXPECT_EQ(Dilate("Dilation2DBackpropFilter", none, {1, 2, 1}, 1, "VALID", {5, 7}),
            (Floats{12, 0}));
}

// The filter's two elements lie on both sides of the only pixel.
TEST(DilationTest, GradientsOfWindowsInThePaddingGoToTheFirstElements) {
  EXPECT_EQ(Dilate("Dilation2D", {3}, {1, 2, 1}, 2, "SAME"), (Floats{kLowest}));
  EXPECT_EQ(Dilate("Dilation2DBackpropInput", {3}, {1, 2, 1}, 2, "SAME", {5}), (Floats{5}));
  EXPECT_EQ(Dilate("Dilation2DBackpropFilter", {3}, {1, 2, 1}, 2, "SAME", {5}), (Floats{5, 0}));
}

}  // namespace
}  // namespace tessera

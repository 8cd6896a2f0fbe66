#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// The texts are TensorFlow's.
TEST(CheckNumericsTest, SaysWhatItHasFound) {
  constexpr float kInf = HUGE_VALF;
  const float nan = std::nanf("");
  const auto found = [](const char* op, const std::vector<float>& values) {
    const auto checked = RunOp(op, {Tensor::Vector<float>(values)}, {{"message", "m"}});
    return std::string(checked.status().message());
  };
  EXPECT_EQ(found("CheckNumericsV2", {1, kInf}), "m : Tensor had +Inf values");
  EXPECT_EQ(found("CheckNumericsV2", {-kInf, kInf}), "m : Tensor had -Inf and +Inf values");
  EXPECT_EQ(found("CheckNumericsV2", {nan, -kInf}), "m : Tensor had -Inf and NaN values");
  EXPECT_EQ(found("CheckNumericsV2", {nan, kInf, -kInf}),
            "m : Tensor had -Inf, +Inf, and NaN values");
  EXPECT_EQ(found("CheckNumerics", {-kInf, kInf}), "m : Tensor had Inf values");
  EXPECT_EQ(found("CheckNumerics", {nan, -kInf}), "m : Tensor had Inf and NaN values");
  EXPECT_EQ(found("CheckNumerics", {nan}), "m : Tensor had NaN values");
  EXPECT_EQ(found("CheckNumerics", {1, -1}), "");
}

// The text is TensorFlow's.
TEST(PrintTest, TheFirstElementsOfEachTensorStandInBrackets) {
  const Tensor matrix = Tensor::Of<int32_t>({2, 2}, {1, 2, 3, 4});
  testing::internal::CaptureStderr();
  const auto printed =
      RunOp("Print",
            {matrix, matrix, Tensor::Vector<std::string>({"a", "b"}), Tensor::Vector<float>({}),
             Tensor::Vector<int32_t>({0, 1, 2, 3})},
            {{"U", std::vector<DType>{DType::kInt32, DType::kString, DType::kFloat, DType::kInt32}},
             {"message", "m:"},
             {"summarize", 3}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "m:[[1 2][3...]...][a b][][0 1 2...]\n");
  EXPECT_TRUE(printed.ok()) << printed.status();
}

}  // namespace
}  // namespace tessera

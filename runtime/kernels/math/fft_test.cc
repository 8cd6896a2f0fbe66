#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// Either type is named by the node.
TEST(FftTest, RealAndComplexTypesHaveOnePrecision) {
  const Tensor length = Tensor::Vector<int32_t>({4});
  const Tensor real = Tensor::Zeros(DType::kFloat, {4}).value();
  const Tensor spectrum = Tensor::Zeros(DType::kComplex64, {3}).value();
  EXPECT_TRUE(RunOp("RFFT", {real, length}, {{"Tcomplex", DType::kComplex64}}).ok());
  EXPECT_FALSE(RunOp("RFFT", {real, length}, {{"Tcomplex", DType::kComplex128}}).ok());
  EXPECT_TRUE(RunOp("IRFFT", {spectrum, length}, {{"Treal", DType::kFloat}}).ok());
  EXPECT_FALSE(RunOp("IRFFT", {spectrum, length}, {{"Treal", DType::kDouble}}).ok());
}

TEST(FftTest, LengthsBeyondTheInputAreRefused) {
  const Tensor real = Tensor::Zeros(DType::kFloat, {2, 4}).value();
  const Tensor spectrum = Tensor::Zeros(DType::kComplex64, {2, 3}).value();
  for (const int32_t length : {4, 5}) {
    EXPECT_EQ(RunOp("RFFT", {real, Tensor::Vector<int32_t>({length})}).ok(), length == 4);
    // Three numbers are the spectrum of 4 or 5.
    EXPECT_TRUE(RunOp("IRFFT", {spectrum, Tensor::Vector<int32_t>({length})}).ok());
  }
  const auto huge = RunOp("IRFFT", {spectrum, Tensor::Vector<int32_t>({2147483647})});
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera

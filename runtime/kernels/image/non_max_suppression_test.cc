// Errors are TensorFlow's.
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

absl::StatusCode SelectWithSigma(float sigma) {
  const std::vector<Tensor> inputs = {Tensor::Of<float>({1, 4}, {0, 0, 1, 1}),
                                      Tensor::Vector<float>({0.9f}),
                                      Tensor::Scalar<int32_t>(1),
                                      Tensor::Scalar(0.5f),
                                      Tensor::Scalar(0.0f),
                                      Tensor::Scalar(sigma)};
  return KernelRunner::Create("NonMaxSuppressionV5", inputs).value().Run(inputs).status().code();
}

TEST(NonMaxSuppressionTest, ASigmaThatIsNoNumberIsRefused) {
  EXPECT_EQ(SelectWithSigma(0), absl::StatusCode::kOk);
  EXPECT_EQ(SelectWithSigma(-1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SelectWithSigma(std::nanf("")), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

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

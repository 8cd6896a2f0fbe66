#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

TEST(FusedMatMulTest, FusedOpsMustHaveTheirArgs) {
  const Tensor ones = Tensor::Of<float>({2, 2}, {1, 1, 1, 1}), bias = Tensor::Vector<float>({1, 2});
  const auto run = [&](std::vector<Tensor> inputs, const std::vector<std::string>& ops) {
    const auto num_args = static_cast<int64_t>(inputs.size()) - 2;
    return RunOp("_FusedMatMul", std::move(inputs), {{"num_args", num_args}, {"fused_ops", ops}});
  };
  const auto product = run({ones, ones, bias}, {"BiasAdd"});
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_EQ(product->ToString(), Tensor::Of<float>({2, 2}, {3, 4, 3, 4}).ToString());
  EXPECT_EQ(run({ones, ones}, {"BiasAdd"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run({ones, ones, bias}, {"BiasAdd", "Add"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera

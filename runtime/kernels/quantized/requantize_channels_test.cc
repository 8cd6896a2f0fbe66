#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

TEST(RequantizationRangePerChannelTest, AnEmptyInputHasNoRange) {
  const Tensor x = Tensor::Zeros(DType::kQint32, {1, 0, 1, 1}).value();
  const Tensor limit = Tensor::Vector<float>({1});
  KernelRunner runner = KernelRunner::Create("RequantizationRangePerChannel", {x, limit, limit},
                                             {{"clip_value_max", 1.f}})
                            .value();

  EXPECT_EQ(runner.Run({x, limit, limit}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera

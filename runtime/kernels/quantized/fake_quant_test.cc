#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

// 1 lies in the middle of two of the 16 numbers; TensorFlow takes the upper one.
TEST(FakeQuantTest, AMiddleRoundsAsItsRoundedProduct) {
  const Tensor y = RunOp("FakeQuantWithMinMaxArgs", {Tensor::Scalar(1.f)},
                         {{"min", -1.f}, {"max", 1.f}, {"num_bits", 4}})
                       .value();
  EXPECT_FLOAT_EQ(y.scalar<float>(), 16 / 15.f);
}

}  // namespace
}  // namespace tessera

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

// Numbers in the middle of two steps, by TensorFlow: a range from inputs divides by the step, one
// from attributes or for each channel multiplies by its reciprocal.
TEST(FakeQuantTest, AMiddleGoesWhereTheOpsRoundingTakesIt) {
  const Tensor x = Tensor::Vector<float>({-0.20000002f, -0.2392157f});
  const Tensor min = Tensor::Scalar(-1.f), max = Tensor::Scalar(1.f);
  const float step = 2 / 255.f;

  const Tensor by_attributes =
      RunOp("FakeQuantWithMinMaxArgs", {x}, {{"min", -1.f}, {"max", 1.f}}).value();
  EXPECT_FLOAT_EQ(by_attributes.data<float>()[0], -25 * step);
  EXPECT_FLOAT_EQ(by_attributes.data<float>()[1], -30 * step);

  const Tensor by_inputs = RunOp("FakeQuantWithMinMaxVars", {x, min, max}).value();
  EXPECT_FLOAT_EQ(by_inputs.data<float>()[0], -26 * step);
  EXPECT_FLOAT_EQ(by_inputs.data<float>()[1], -31 * step);

  const Tensor by_channel =
      RunOp("FakeQuantWithMinMaxVarsPerChannel",
            {x.Reshaped({2, 1}).value(), min.Reshaped({1}).value(), max.Reshaped({1}).value()})
          .value();
  EXPECT_FLOAT_EQ(by_channel.data<float>()[0], -25 * step);
  EXPECT_FLOAT_EQ(by_channel.data<float>()[1], -30 * step);
}

TEST(FakeQuantTest, AMiddleOfFewStepsGoesWhereTheOpsRoundingTakesIt) {
  const float min = -1.9108851f, max = 1.3489336f;
  const Tensor x = Tensor::Scalar(0.5783549f);

  const Tensor by_attributes =
      RunOp("FakeQuantWithMinMaxArgs", {x}, {{"min", min}, {"max", max}, {"num_bits", 5}}).value();
  const Tensor by_inputs = RunOp("FakeQuantWithMinMaxVars",
                                 {x, Tensor::Scalar(min), Tensor::Scalar(max)}, {{"num_bits", 5}})
                               .value();

  EXPECT_FLOAT_EQ(by_attributes.scalar<float>(), 0.5257772f);
  EXPECT_FLOAT_EQ(by_inputs.scalar<float>(), 0.6309326f);
}

}  // namespace
}  // namespace tessera

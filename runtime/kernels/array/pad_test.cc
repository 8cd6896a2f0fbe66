#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(PadTest, WritesBordersAroundTheInput) {
  const Tensor input = Tensor::Of<float>({1, 2, 2}, {1, 2, 3, 4});
  const Tensor paddings = Tensor::Of<int32_t>({3, 2}, {0, 1, 1, 0, 2, 1});
  const Tensor padded = *RunOp("PadV2", {input, paddings, Tensor::Scalar(9.f)});
  EXPECT_EQ(padded.shape(), Shape({2, 3, 5}));
  EXPECT_THAT(padded.flat<float>(), ElementsAre(9, 9, 9, 9, 9,  //
                                                9, 9, 1, 2, 9,  //
                                                9, 9, 3, 4, 9,  //
                                                9, 9, 9, 9, 9,  //
                                                9, 9, 9, 9, 9,  //
                                                9, 9, 9, 9, 9));
}

TEST(PadTest, WithoutAValueStringsAreEmpty) {
  const Tensor padded =
      *RunOp("Pad", {Tensor::Vector<std::string>({"a"}), Tensor::Of<int64_t>({1, 2}, {1, 1})});
  EXPECT_THAT(padded.flat<std::string>(), ElementsAre("", "a", ""));
}

TEST(PadTest, AroundAnEmptyTensorThereIsTheBorderAlone) {
  const Tensor input = Tensor::Of<uint8_t>({2, 0}, {});
  const Tensor paddings = Tensor::Of<int32_t>({2, 2}, {1, 0, 2, 1});
  const Tensor padded = *RunOp("PadV2", {input, paddings, Tensor::Scalar<uint8_t>(7)});
  EXPECT_EQ(padded.shape(), Shape({3, 3}));
  EXPECT_THAT(padded.flat<uint8_t>(), Each(7));
}

}  // namespace
}  // namespace tessera

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

TEST(PadTest, WritesEveryElementOfLongRowsOnce) {
  constexpr int64_t kRows = 9, kColumns = 5, kChannels = 70;
  for (const float value : {0.0f, 3.0f}) {
    Tensor input = Tensor::Allocate(DType::kFloat, {2, kRows, kColumns, kChannels}).value();
    for (int64_t i = 0; i < input.num_elements(); ++i) input.data<float>()[i] = i + 10.0f;
    const Tensor paddings = Tensor::Of<int32_t>({4, 2}, {0, 1, 2, 1, 1, 0, 0, 0});

    const Tensor padded = *RunOp("PadV2", {input, paddings, Tensor::Scalar(value)});

    ASSERT_EQ(padded.shape(), Shape({3, kRows + 3, kColumns + 1, kChannels}));
    const float* got = padded.data<float>();
    for (int64_t b = 0; b < 3; ++b) {
      for (int64_t y = -2; y < kRows + 1; ++y) {
        for (int64_t x = -1; x < kColumns; ++x) {
          for (int64_t c = 0; c < kChannels; ++c, ++got) {
            const bool is_inside = b < 2 && y >= 0 && y < kRows && x >= 0;
            const int64_t at = ((b * kRows + y) * kColumns + x) * kChannels + c;
            ASSERT_EQ(*got, is_inside ? input.data<float>()[at] : value)
                << b << ", " << y << ", " << x << ", " << c;
          }
        }
      }
    }
  }
}

TEST(PadTest, LongRowsOfStringsAreAssigned) {
  Tensor input = Tensor::Allocate(DType::kString, {20, 10}).value();
  for (int64_t i = 0; i < 200; ++i) input.data<std::string>()[i] = std::string(30, 'a' + i % 26);
  const Tensor paddings = Tensor::Of<int32_t>({2, 2}, {0, 1, 1, 1});
  const Tensor padded = *RunOp("PadV2", {input, paddings, Tensor::Scalar<std::string>("border")});
  for (int64_t r = 0; r < 21; ++r) {
    for (int64_t c = 0; c < 12; ++c) {
      const bool is_inside = r < 20 && c > 0 && c < 11;
      EXPECT_EQ(padded.data<std::string>()[r * 12 + c],
                is_inside ? std::string(30, 'a' + (r * 10 + c - 1) % 26) : "border");
    }
  }
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

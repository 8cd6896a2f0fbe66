#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

// Elements 0, 1, 2 ... of a given shape.
Tensor Range(const Shape& shape) {
  Tensor result = Tensor::Allocate(DType::kFloat, shape).value();
  for (int64_t i = 0; i < result.num_elements(); ++i)
    result.data<float>()[i] = static_cast<float>(i);
  return result;
}

Tensor Slice(const Tensor& input, std::initializer_list<int32_t> begin,
             std::initializer_list<int32_t> size) {
  return RunOp("Slice", {input, Tensor::Vector<int32_t>(begin), Tensor::Vector<int32_t>(size)})
      .value();
}

// Shrinks the dimensions of `shrink`, a bit mask, to the element at `begin`.
Tensor StridedSlice(const Tensor& input, std::initializer_list<int32_t> begin,
                    std::initializer_list<int32_t> end, std::initializer_list<int32_t> strides,
                    int64_t shrink) {
  return RunOp("StridedSlice",
               {input, Tensor::Vector<int32_t>(begin), Tensor::Vector<int32_t>(end),
                Tensor::Vector<int32_t>(strides)},
               {{"shrink_axis_mask", shrink}})
      .value();
}

TEST(SliceTest, ElementsInARowShareTheMemory) {
  const Tensor x = Range({1, 3, 2, 16});
  const Tensor y = Slice(x, {0, 2, 0, 0}, {1, 1, 2, 16});
  EXPECT_EQ(y.raw(), x.raw() + 64 * sizeof(float));
  EXPECT_EQ(y.shape(), Shape({1, 1, 2, 16}));
  const Tensor z = StridedSlice(x, {0, 1, 1}, {1, 2, 2}, {1, 1, 1}, 0b111);
  EXPECT_EQ(z.raw(), x.raw() + 48 * sizeof(float));
  EXPECT_EQ(z.shape(), Shape({16}));
}

TEST(SliceTest, ElementsWithGapsAreCopied) {
  const Tensor x = Range({2, 2, 2});
  EXPECT_THAT(Slice(x, {0, 1, 0}, {2, 1, 2}).flat<float>(), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(StridedSlice(x, {0, 1}, {2, 2}, {1, 1}, 0b10).flat<float>(), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(StridedSlice(x, {0, 0}, {1, 2}, {1, 1}, 0b01).flat<float>(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(StridedSlice(x, {0, 1}, {1, -3}, {1, -1}, 0b01).flat<float>(),
              ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(StridedSlice(x, {1, 1, 0}, {2, 2, 2}, {1, 1, 2}, 0b011).flat<float>(),
              ElementsAre(6));
}

TEST(SliceTest, ValuesOfUpdatesMayHaveMoreDimensionsOfOneElement) {
  const auto update = [](const Tensor& value) {
    const Tensor zeros = Tensor::Zeros(DType::kFloat, {2, 3}).value();
    return RunOp("TensorStridedSliceUpdate",
                 {zeros, Tensor::Vector<int32_t>({0, 1}), Tensor::Vector<int32_t>({2, 3}),
                  Tensor::Vector<int32_t>({1, 1}), value});
  };
  const auto rows = update(Tensor::Of<float>({1, 1, 2, 2}, {1, 2, 3, 4}));
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(rows->flat<float>(), ElementsAre(0, 1, 2, 0, 3, 4));
  const auto one = update(Tensor::Of<float>({1, 1, 1}, {5}));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(one->flat<float>(), ElementsAre(0, 5, 5, 0, 5, 5));
  EXPECT_EQ(update(Tensor::Zeros(DType::kFloat, {2, 2, 2}).value()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(SliceTest, NothingBeyondTheEndIsEmpty) {
  EXPECT_EQ(Slice(Range({2, 3}), {2, 3}, {0, 0}).num_elements(), 0);
  EXPECT_EQ(StridedSlice(Range({2, 3}), {2, 3}, {2, 3}, {1, 1}, 0).num_elements(), 0);
}

}  // namespace
}  // namespace tessera

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/kernels/testing/kernel_runner.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

absl::StatusOr<Tensor> Slice(std::initializer_list<int32_t> begin,
                             std::initializer_list<int32_t> size) {
  const Tensor input = Tensor::Vector<float>({1, 2, 3, 4, 5, 6}).Reshaped({2, 3}).value();
  return RunOp("XlaDynamicSlice",
               {input, Tensor::Vector<int32_t>(begin), Tensor::Vector<int32_t>(size)});
}

TEST(DynamicSliceTest, ABoxThatSticksOutIsMovedInside) {
  EXPECT_THAT(Slice({0, 1}, {2, 2})->flat<float>(), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(Slice({9, -9}, {1, 2})->flat<float>(), ElementsAre(4, 5));
}

TEST(DynamicSliceTest, ABoxThatIsTooLargeIsAnError) {
  EXPECT_EQ(Slice({0, 0}, {3, 1}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Slice({0, 0}, {1, -1}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(InplaceTest, IndicesWrapAroundAndMayRepeat) {
  const Tensor x = Tensor::Of<float>({3, 1}, {10, 20, 30});
  const Tensor i = Tensor::Vector<int32_t>({1, -1, 5, 4});
  const Tensor v = Tensor::Of<float>({4, 1}, {1, 2, 3, 4});
  EXPECT_THAT(RunOp("InplaceAdd", {x, i, v})->flat<float>(), ElementsAre(10, 25, 35));
  EXPECT_THAT(RunOp("InplaceUpdate", {x, i, v})->flat<float>(), ElementsAre(10, 4, 3));
  EXPECT_THAT(x.flat<float>(), ElementsAre(10, 20, 30));
}

TEST(InplaceTest, WithoutRowsThereIsNothingToUpdate) {
  const Tensor x = Tensor::Of<float>({0, 1}, {});
  EXPECT_TRUE(
      RunOp("InplaceUpdate", {x, Tensor::Vector<int32_t>({}), Tensor::Of<float>({0, 1}, {})}).ok());
  EXPECT_EQ(
      RunOp("InplaceUpdate", {x, Tensor::Vector<int32_t>({0}), Tensor::Of<float>({1, 1}, {1})})
          .status()
          .code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera

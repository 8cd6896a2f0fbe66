#include "serving/batching/batch_assembly.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::ElementsAre;

using Tensors = std::vector<Tensor>;

Tensor Floats(const Shape& shape, std::initializer_list<float> values) {
  return Tensor::Of<float>(shape, values);
}

TensorRows All(const Tensors& tensors) {
  return {.tensors = tensors, .begin = 0, .end = tensors[0].dim(0)};
}

TEST(CanMergeTest, DtypesRanksAndFurtherDimensionsMustAgree) {
  const Tensors a = {Floats({1, 2}, {1, 2})};
  EXPECT_TRUE(CanMerge(a, Tensors{Floats({3, 2}, {1, 2, 3, 4, 5, 6})}, RowPadding::kNone));
  EXPECT_FALSE(CanMerge(a, Tensors{Floats({1, 1}, {1})}, RowPadding::kNone));
  EXPECT_TRUE(CanMerge(a, Tensors{Floats({1, 1}, {1})}, RowPadding::kVariableLength));
  EXPECT_FALSE(CanMerge(a, Tensors{Floats({2}, {1, 2})}, RowPadding::kVariableLength));
  EXPECT_FALSE(
      CanMerge(a, Tensors{Tensor::Of<int32_t>({1, 2}, {1, 2})}, RowPadding::kVariableLength));
  EXPECT_FALSE(CanMerge(a, Tensors{a[0], a[0]}, RowPadding::kNone));
}

TEST(CanMergeTest, HandlesAndVariantsAreNeverMerged) {
  const Tensors handles = {Tensor::Allocate(DType::kResource, {1}).value()};
  EXPECT_FALSE(CanMerge(handles, handles, RowPadding::kNone));
}

TEST(MergeRowsTest, RowsStandBelowEachOtherForEachTensor) {
  const Tensors a = {Floats({1, 2}, {1, 2}), Tensor::Vector<int64_t>({7})};
  const Tensors b = {Floats({2, 2}, {3, 4, 5, 6}), Tensor::Vector<int64_t>({8, 9})};
  const Tensors merged = MergeRows({All(a), All(b)}, 3).value();
  ASSERT_EQ(merged.size(), 2);
  EXPECT_EQ(merged[0].shape(), Shape({3, 2}));
  EXPECT_THAT(merged[0].flat<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(merged[1].flat<int64_t>(), ElementsAre(7, 8, 9));
}

TEST(MergeRowsTest, FillsUpWithTheFirstRowOfTheLastRange) {
  const Tensors a = {Floats({1}, {1})}, b = {Floats({3}, {2, 3, 4})};
  const TensorRows rest{.tensors = b, .begin = 1, .end = 3};
  const Tensors merged = MergeRows({All(a), rest}, 5).value();
  EXPECT_THAT(merged[0].flat<float>(), ElementsAre(1, 3, 4, 3, 3));
}

TEST(MergeRowsTest, StringsAreCopied) {
  const Tensors a = {Tensor::Vector<std::string>({"a"})};
  const Tensors b = {Tensor::Vector<std::string>({"a string too long to be stored in place"})};
  const Tensors merged = MergeRows({All(a), All(b)}, 3).value();
  EXPECT_THAT(merged[0].flat<std::string>(),
              ElementsAre("a", b[0].flat<std::string>()[0], b[0].flat<std::string>()[0]));
}

TEST(MergeRowsTest, ShorterRowsArePaddedWithTheirTensorsFirstElement) {
  const Tensors a = {Floats({2, 1, 2}, {1, 2, 3, 4})};
  const Tensors b = {Floats({1, 2, 1}, {7, 8})};
  ASSERT_TRUE(CanMerge(a, b, RowPadding::kVariableLength));
  const Tensors merged = MergeRows({All(a), All(b)}, 3).value();
  EXPECT_EQ(merged[0].shape(), Shape({3, 2, 2}));
  EXPECT_THAT(merged[0].flat<float>(), ElementsAre(1, 2, 1, 1, 3, 4, 1, 1, 7, 7, 8, 7));
}

TEST(MergeRowsTest, PadsStringsAndEverySizeOfElement) {
  const Tensors a = {Tensor::Of<std::string>({1, 1}, {"p"}), Tensor::Of<uint8_t>({1, 1}, {3}),
                     Tensor::Of<int16_t>({1, 1}, {4}), Tensor::Of<double>({1, 1}, {5}),
                     Tensor::Of<std::complex<double>>({1, 1}, {{6, 7}})};
  const Tensors b = {Tensor::Of<std::string>({1, 2}, {"q", "r"}),
                     Tensor::Of<uint8_t>({1, 2}, {1, 2}), Tensor::Of<int16_t>({1, 2}, {1, 2}),
                     Tensor::Of<double>({1, 2}, {1, 2}),
                     Tensor::Of<std::complex<double>>({1, 2}, {{1, 1}, {2, 2}})};
  const Tensors merged = MergeRows({All(a), All(b)}, 2).value();
  EXPECT_THAT(merged[0].flat<std::string>(), ElementsAre("p", "p", "q", "r"));
  EXPECT_THAT(merged[1].flat<uint8_t>(), ElementsAre(3, 3, 1, 2));
  EXPECT_THAT(merged[2].flat<int16_t>(), ElementsAre(4, 4, 1, 2));
  EXPECT_THAT(merged[3].flat<double>(), ElementsAre(5, 5, 1, 2));
  EXPECT_EQ(merged[4].flat<std::complex<double>>()[1], std::complex<double>(6, 7));
}

TEST(MergeRowsTest, SizesThatOverflowAreAnError) {
  const Tensors a = {Floats({1, 2}, {1, 2})};
  EXPECT_FALSE(MergeRows({All(a)}, int64_t{1} << 62).ok());
}

TEST(CheckOutputRowsTest, EachOutputNeedsTheRows) {
  EXPECT_TRUE(CheckOutputRows(Tensors{Floats({2}, {1, 2})}, 2).ok());
  EXPECT_EQ(CheckOutputRows(Tensors{Tensor::Scalar(1.0f)}, 1),
            absl::FailedPreconditionError("Batched output tensor has 0 dimensions"));
  EXPECT_EQ(CheckOutputRows(Tensors{Floats({1}, {1})}, 2).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(SliceRowsTest, SharesTheMemory) {
  const Tensors whole = {Floats({3, 1}, {1, 2, 3})};
  const Tensors part = SliceRows(whole, 1, 3);
  EXPECT_THAT(part[0].flat<float>(), ElementsAre(2, 3));
  EXPECT_TRUE(part[0].SharesBufferWith(whole[0]));
}

}  // namespace
}  // namespace tessera::serving

#include "runtime/kernels/tensor_list.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/variant_arithmetic.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<TensorList> ListOf(std::vector<Tensor> elements, PartialShape shape) {
  auto list = std::make_shared<TensorList>(DType::kFloat, std::move(shape));
  list->elements = std::move(elements);
  return list;
}

absl::StatusOr<Variant> AddOnHost(Variant a, const Variant& b) {
  StepContext step;
  KernelContext ctx(step, /*device=*/nullptr);
  return AddVariants(ctx, PrimitiveImplementations<AddN>::Find(kCpu), std::move(a), b);
}

absl::StatusOr<Variant> ZerosOnHost(const Variant& variant) {
  StepContext step;
  KernelContext ctx(step, /*device=*/nullptr);
  return ZerosLikeVariant(ctx, variant);
}

Tensor Numbers(std::vector<float> values) { return Tensor::Vector<float>(values); }

TEST(AddTensorListsTest, AnElementWithoutAValueCountsAsZeros) {
  const auto a = ListOf({Numbers({1, 2}), Tensor(), Tensor()}, PartialShape({2}));
  const auto b = ListOf({Numbers({10, 20}), Numbers({5, 6}), Tensor()}, PartialShape({2}));
  const auto sum = AddOnHost(Variant(a), Variant(b));
  ASSERT_TRUE(sum.ok()) << sum.status();
  const auto* list = sum->get<TensorList>();
  EXPECT_THAT(list->elements[0].flat<float>(), ElementsAre(11, 22));
  EXPECT_THAT(list->elements[1].flat<float>(), ElementsAre(5, 6));
  EXPECT_FALSE(list->elements[2].has_value());
}

TEST(AddTensorListsTest, ListsThatOthersHoldKeepTheirNumbers) {
  const auto a = ListOf({Numbers({1})}, PartialShape({1}));
  const auto b = ListOf({Numbers({10})}, PartialShape({1}));
  ASSERT_TRUE(AddOnHost(Variant(a), Variant(b)).ok());
  EXPECT_THAT(a->elements[0].flat<float>(), ElementsAre(1));
  EXPECT_THAT(b->elements[0].flat<float>(), ElementsAre(10));
}

TEST(AddTensorListsTest, ElementsThatOthersHoldKeepTheirNumbers) {
  const Tensor held = Numbers({1});
  Variant a(ListOf({held}, PartialShape({1})));
  const auto b = ListOf({Numbers({10})}, PartialShape({1}));
  const auto sum = AddOnHost(std::move(a), Variant(b));
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(sum->get<TensorList>()->elements[0].flat<float>(), ElementsAre(11));
  EXPECT_THAT(held.flat<float>(), ElementsAre(1));
}

TEST(AddTensorListsTest, AListThatNobodyElseHoldsIsAddedToInItsMemory) {
  auto list = ListOf({Numbers({1})}, PartialShape({1}));
  const void* const memory = list->elements[0].raw();
  const auto b = ListOf({Numbers({10})}, PartialShape({1}));
  const auto sum = AddOnHost(Variant(std::move(list)), Variant(b));
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(sum->get<TensorList>()->elements[0].raw(), memory);
  EXPECT_THAT(sum->get<TensorList>()->elements[0].flat<float>(), ElementsAre(11));
}

TEST(AddTensorListsTest, EmptyListsAndElementsAddUpToEmptyOnes) {
  const auto none = ListOf({}, PartialShape({2}));
  EXPECT_TRUE(AddOnHost(Variant(none), Variant(none)).ok());
  const auto empty = ListOf({Numbers({})}, PartialShape({0}));
  const auto sum = AddOnHost(Variant(empty), Variant(empty));
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(sum->get<TensorList>()->elements[0].num_elements(), 0);
}

TEST(AddTensorListsTest, OtherLengthsAreRefused) {
  const auto one = ListOf({Numbers({1})}, PartialShape({1}));
  const auto none = ListOf({}, PartialShape({1}));
  EXPECT_EQ(AddOnHost(Variant(one), Variant(none)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ZerosLikeTensorListTest, ElementsOfAnUnknownShapeGetZeros) {
  const auto known = ListOf({Numbers({1, 2}), Tensor()}, PartialShape({2}));
  const auto unknown = ListOf({Numbers({1, 2})}, PartialShape({-1}));
  const auto zeros_of_known = ZerosOnHost(Variant(known));
  const auto zeros_of_unknown = ZerosOnHost(Variant(unknown));
  ASSERT_TRUE(zeros_of_known.ok() && zeros_of_unknown.ok());
  EXPECT_EQ(zeros_of_known->get<TensorList>()->size(), 2);
  EXPECT_FALSE(zeros_of_known->get<TensorList>()->elements[0].has_value());
  EXPECT_THAT(zeros_of_unknown->get<TensorList>()->elements[0].flat<float>(), ElementsAre(0, 0));
}

}  // namespace
}  // namespace tessera

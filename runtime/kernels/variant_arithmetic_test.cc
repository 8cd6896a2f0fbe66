// Optionals and empty variants; tensor lists have their tests in tensor_list_test.cc.
#include "runtime/kernels/variant_arithmetic.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/data/optional.h"
#include "runtime/kernels/primitives/primitive.h"
#include "runtime/kernels/tensor_list.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Variant> Add(const Variant& a, const Variant& b) {
  StepContext step;
  KernelContext ctx(step, /*device=*/nullptr);
  return AddVariants(ctx, PrimitiveImplementations<AddN>::Find(kCpu), a, b);
}

absl::StatusOr<Variant> ZerosLike(const Variant& variant) {
  StepContext step;
  KernelContext ctx(step, /*device=*/nullptr);
  return ZerosLikeVariant(ctx, variant);
}

Variant Optional(absl::optional<Element> element) {
  return OptionalTensor(std::move(element)).scalar<Variant>();
}
Tensor Numbers(std::vector<float> values) { return Tensor::Vector<float>(values); }
Tensor Nested(Variant variant) { return Tensor::Scalar<Variant>(std::move(variant)); }
const Element& ElementOf(const Variant& variant) {
  return *variant.get<OptionalValue>()->element();
}

TEST(VariantArithmeticTest, ZerosOfAnOptionalHaveItsShapes) {
  const Variant optional = Optional(Element{Numbers({1, 2}), Tensor::Scalar<int32_t>(7),
                                            Nested(Optional(Element{Numbers({3})}))});
  const auto zeros = ZerosLike(optional);
  ASSERT_TRUE(zeros.ok()) << zeros.status();
  EXPECT_THAT(ElementOf(*zeros)[0].flat<float>(), ElementsAre(0, 0));
  EXPECT_EQ(ElementOf(*zeros)[1].scalar<int32_t>(), 0);
  EXPECT_THAT(ElementOf(ElementOf(*zeros)[2].scalar<Variant>())[0].flat<float>(), ElementsAre(0));
  EXPECT_THAT(ElementOf(optional)[0].flat<float>(), ElementsAre(1, 2));
  const auto none = ZerosLike(Optional(absl::nullopt));
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->get<OptionalValue>()->element().has_value());
}

TEST(VariantArithmeticTest, OptionalsAreAddedByTheirComponents) {
  const Variant a = Optional(Element{Numbers({1, 2}), Nested(Optional(Element{Numbers({3})}))});
  const Variant b = Optional(Element{Numbers({10, 20}), Nested(Optional(Element{Numbers({4})}))});
  const auto sum = Add(a, b);
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_THAT(ElementOf(*sum)[0].flat<float>(), ElementsAre(11, 22));
  EXPECT_THAT(ElementOf(ElementOf(*sum)[1].scalar<Variant>())[0].flat<float>(), ElementsAre(7));
  EXPECT_THAT(ElementOf(a)[0].flat<float>(), ElementsAre(1, 2));
  EXPECT_THAT(ElementOf(ElementOf(a)[1].scalar<Variant>())[0].flat<float>(), ElementsAre(3));
  EXPECT_TRUE(Add(Optional(absl::nullopt), Optional(absl::nullopt)).ok());
}

TEST(VariantArithmeticTest, OptionalsThatDoNotFitAreRefused) {
  const Variant some = Optional(Element{Numbers({1, 2})});
  const std::pair<Variant, const char*> kOthers[] = {
      {Optional(absl::nullopt), "cannot add an optional and an empty optional"},
      {Optional(Element{Numbers({1, 2}), Numbers({1})}), "cannot add an optional"},
      {Optional(Element{Numbers({1})}), "they are float[2] and float[1]"},
      {Optional(Element{Tensor::Vector<int32_t>({1, 2})}), "they are float[2] and int32[2]"},
  };
  for (const auto& [other, text] : kOthers) {
    const absl::Status status = Add(some, other).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
  const Variant words = Optional(Element{Tensor::Vector<std::string>({"a"})});
  EXPECT_FALSE(Add(words, words).ok());
}

TEST(VariantArithmeticTest, AnEmptyVariantCountsAsZeros) {
  const Variant some = Optional(Element{Numbers({1, 2})});
  for (const auto& sum : {Add(some, Variant()), Add(Variant(), some)}) {
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_THAT(ElementOf(*sum)[0].flat<float>(), ElementsAre(1, 2));
  }
  EXPECT_FALSE(Add(Variant(), Variant())->has_value());
  EXPECT_FALSE(ZerosLike(Variant())->has_value());
}

// A list of an optional, of a list with one element, and of an element without a value.
Variant NestedList(std::vector<float> numbers) {
  auto inner = std::make_shared<TensorList>(DType::kFloat, PartialShape({-1}));
  inner->elements = {Numbers(numbers)};
  auto list = std::make_shared<TensorList>(DType::kVariant, PartialShape(Shape()));
  list->elements = {Nested(Optional(Element{Numbers(numbers)})), Nested(Variant(inner)), Tensor()};
  return Variant(list);
}

// As the gradients of loops in loops need them, which take elements from the inner list.
TEST(VariantArithmeticTest, ListsOfListsKeepTheLengthsOfTheInnerOnes) {
  const auto zeros = ZerosLike(NestedList({1, 2}));
  ASSERT_TRUE(zeros.ok()) << zeros.status();
  const auto sum = Add(NestedList({1, 2}), NestedList({10, 20}));
  ASSERT_TRUE(sum.ok()) << sum.status();
  const auto sum_with_zeros = Add(*zeros, NestedList({1, 2}));
  ASSERT_TRUE(sum_with_zeros.ok()) << sum_with_zeros.status();
  const auto check = [](const Variant& variant, float first, float second) {
    const auto& elements = variant.get<TensorList>()->elements;
    EXPECT_THAT(ElementOf(elements[0].scalar<Variant>())[0].flat<float>(),
                ElementsAre(first, second));
    const auto* inner = elements[1].scalar<Variant>().get<TensorList>();
    ASSERT_NE(inner, nullptr);
    ASSERT_EQ(inner->size(), 1);
    EXPECT_THAT(inner->elements[0].flat<float>(), ElementsAre(first, second));
    EXPECT_FALSE(elements[2].has_value());
  };
  check(*zeros, 0, 0);
  check(*sum, 11, 22);
  check(*sum_with_zeros, 1, 2);
}

TEST(VariantArithmeticTest, ZerosAndSumsOfListsHoldAnyNumberOfElements) {
  auto list = std::make_shared<TensorList>(DType::kFloat, PartialShape({2}));
  list->elements.resize(1);
  list->max_elements = 1;
  const Variant full(std::move(list));
  const auto zeros = ZerosLike(full), sum = Add(full, full);
  ASSERT_TRUE(zeros.ok() && sum.ok()) << zeros.status() << sum.status();
  EXPECT_EQ(GetTensorList(*zeros).value()->max_elements, -1);
  EXPECT_EQ(GetTensorList(*sum).value()->max_elements, -1);
  EXPECT_EQ(GetTensorList(full).value()->max_elements, 1) << "the operand is as it was";
}

}  // namespace
}  // namespace tessera

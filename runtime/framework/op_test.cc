#include "runtime/framework/op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<OpDef> Concat() {
  return std::move(OpBuilder("TestConcat")
                       .Input("axis: int32")
                       .Input("values: N * T")
                       .Output("output: T")
                       .Attr("N: int >= 2")
                       .Attr("T: {float, double} = float")
                       .Attr("mode: {'FAST', 'EXACT'} = 'FAST'")
                       .Attr("dims: list(int) = [1, 2]")
                       .Attr("shape: shape = <unknown>")
                       .Attr("colour: tensor = uint8[255, 0]"))
      .Build();
}

TEST(OpBuilderTest, ParsesTypesDefaultsAndLimits) {
  const auto op = Concat();
  EXPECT_EQ(op->inputs[0].type, DType::kInt32);
  EXPECT_EQ(op->inputs[1].type_attr, "T");
  EXPECT_EQ(op->inputs[1].number_attr, "N");
  EXPECT_EQ(op->FindAttr("N")->minimum, 2);
  EXPECT_FALSE(op->FindAttr("N")->default_value.has_value());
  EXPECT_THAT(op->FindAttr("T")->allowed_types, ElementsAre(DType::kFloat, DType::kDouble));
  EXPECT_EQ(*op->FindAttr("mode")->default_value, AttrValue("FAST"));
  EXPECT_EQ(*op->FindAttr("dims")->default_value, AttrValue(std::vector<int64_t>{1, 2}));
  EXPECT_FALSE(op->FindAttr("shape")->default_value->get<PartialShape>()->known_rank());
  EXPECT_EQ(*op->FindAttr("colour")->default_value, AttrValue(Tensor::Vector<uint8_t>({255, 0})));
}

TEST(OpBuilderTest, RefAndListArguments) {
  const auto op = std::move(OpBuilder("TestRef")
                                .Input("ref: Ref(T)")
                                .Input("args: Tin")
                                .Output("out: Ref(T)")
                                .Attr("T: type")
                                .Attr("Tin: list(type) >= 0"))
                      .Build();
  AttrMap attrs{{"T", DType::kFloat}, {"Tin", std::vector<DType>{DType::kInt32, DType::kString}}};
  EXPECT_THAT(*InputTypes(*op, attrs),
              ElementsAre(MakeRef(DType::kFloat), DType::kInt32, DType::kString));
  EXPECT_THAT(*OutputTypes(*op, attrs), ElementsAre(MakeRef(DType::kFloat)));
  EXPECT_EQ(InputRange(*op, attrs, "args")->begin, 1);
  EXPECT_EQ(InputRange(*op, attrs, "args")->end, 3);
  EXPECT_EQ(InputRange(*op, attrs, "nothing").status().code(), absl::StatusCode::kNotFound);
}

TEST(OpBuilderTest, DerivesTraitsFromTheUsesOfArguments) {
  const auto op = std::move(OpBuilder("TestUses")
                                .Reads("from")
                                .Writes("to")
                                .Input("values: N * T")
                                .Input("from: resource")
                                .Input("to: resource")
                                .Attr("N: int >= 1")
                                .Attr("T: type")
                                .Stateful())
                      .Build();
  EXPECT_TRUE(op->Has(OpTrait::kReadsResource));
  EXPECT_TRUE(op->Has(OpTrait::kWritesResource));
  EXPECT_FALSE(op->Has(OpTrait::kUndeclared));
  const AttrMap attrs{{"N", 2}, {"T", DType::kFloat}};
  EXPECT_EQ(InputUse(*op, attrs, 1), ArgUse::kUndeclared);
  EXPECT_EQ(InputUse(*op, attrs, 2), ArgUse::kRead);
  EXPECT_EQ(InputUse(*op, attrs, 3), ArgUse::kWritten);
  EXPECT_EQ(InputUse(*op, attrs, 4), ArgUse::kUndeclared);
}

TEST(OpBuilderTest, SilenceAboutStateIsMarked) {
  const auto is_undeclared = [](OpBuilder& op) {
    return std::move(op).Build()->Has(OpTrait::kUndeclared);
  };
  EXPECT_TRUE(is_undeclared(OpBuilder("S").Stateful()));
  EXPECT_TRUE(is_undeclared(OpBuilder("R").Input("r: resource")));
  EXPECT_TRUE(is_undeclared(OpBuilder("V").Input("v: Ref(float)")));
  EXPECT_TRUE(is_undeclared(OpBuilder("T").Input("a: resource").Input("b: resource").Reads("a")));
  EXPECT_FALSE(is_undeclared(OpBuilder("P").Input("x: float")));
  EXPECT_FALSE(is_undeclared(OpBuilder("C").Stateful().ComputesOnly()));
  EXPECT_FALSE(is_undeclared(OpBuilder("W").Stateful().Input("r: resource").Writes("r")));
}

TEST(CompleteAttrsTest, FillsDefaultsAndKeepsUndeclaredAttributes) {
  const auto op = Concat();
  AttrMap attrs{{"N", 3}, {"_class", "loc:@x"}};
  ASSERT_TRUE(CompleteAttrs(*op, &attrs).ok());
  EXPECT_EQ(*GetAttr<DType>(attrs, "T"), DType::kFloat);
  EXPECT_EQ(*GetAttr<std::string>(attrs, "mode"), "FAST");
  EXPECT_EQ(*GetAttr<std::string>(attrs, "_class"), "loc:@x");
}

TEST(CompleteAttrsTest, NamesTheAttributeThatIsWrong) {
  const auto op = Concat();
  const auto message = [&](AttrMap attrs) {
    const absl::Status status = CompleteAttrs(*op, &attrs);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(message({}), HasSubstr("needs attribute 'N'"));
  EXPECT_THAT(message({{"N", "two"}}), HasSubstr("'N' must be of type int"));
  EXPECT_THAT(message({{"N", 1}}), HasSubstr("minimum is 2"));
  EXPECT_THAT(message({{"N", 2}, {"T", DType::kString}}), HasSubstr("float, double"));
  EXPECT_THAT(message({{"N", 2}, {"mode", "SLOW"}}), HasSubstr("FAST, EXACT"));
}

TEST(CompleteAttrsTest, RefusesAbsurdCounts) {
  const auto op = Concat();
  AttrMap attrs{{"N", int64_t{1} << 40}};
  ASSERT_TRUE(CompleteAttrs(*op, &attrs).ok());
  EXPECT_EQ(InputTypes(*op, attrs).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(GetAttrTest, AnEmptyListIsAnyEmptyVector) {
  AttrMap attrs{{"list", EmptyList()}};
  EXPECT_TRUE(GetAttr<std::vector<int64_t>>(attrs, "list")->empty());
  EXPECT_TRUE(GetAttr<std::vector<std::string>>(attrs, "list")->empty());
  EXPECT_FALSE(GetAttr<int64_t>(attrs, "list").ok());
}

TEST(AttrValueTest, TextTellsAnyTwoFloatsApart) {
  const float x = 0.1f;
  EXPECT_EQ(AttrValue(x).ToString(), "0.1");
  EXPECT_NE(AttrValue(x).ToString(), AttrValue(std::nextafter(x, 1.0f)).ToString());
  EXPECT_NE(AttrValue(std::vector<float>{x}).ToString(),
            AttrValue(std::vector<float>{std::nextafter(x, 1.0f)}).ToString());
}

TEST(AttrValueTest, TensorsCompareByContents) {
  const AttrValue a = Tensor::Vector<float>({1, 2}), b = Tensor::Vector<float>({1, 2});
  const AttrValue c = Tensor::Vector<float>({1, 3});
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == c);
  EXPECT_EQ(a.ToString(), b.ToString());
  EXPECT_NE(a.ToString(), c.ToString());
}

}  // namespace
}  // namespace tessera

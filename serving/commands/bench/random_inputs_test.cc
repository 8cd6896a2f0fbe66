#include "serving/commands/bench/random_inputs.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera::serving {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

TEST(RandomInputsTest, UnknownFirstDimensionsAreTheBatch) {
  const auto inputs = RandomInputs({.inputs = {{"image", {DType::kFloat, {-1, 8, -1}}},
                                               {"fixed", {DType::kFloat, {2, 3}}},
                                               {"scalar", {DType::kFloat, PartialShape(Shape())}},
                                               {"any", {DType::kFloat, PartialShape()}}}},
                                   16);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(inputs->at("image").shape(), (Shape{16, 8, 1}));
  EXPECT_EQ(inputs->at("fixed").shape(), (Shape{2, 3}));
  EXPECT_EQ(inputs->at("scalar").shape(), Shape());
  EXPECT_EQ(inputs->at("any").shape(), (Shape{16}));
}

TEST(RandomInputsTest, NumbersVaryAndIntegersAreValidIndices) {
  const auto inputs = RandomInputs({.inputs = {{"float", {DType::kFloat, {-1}}},
                                               {"half", {DType::kHalf, {-1}}},
                                               {"ids", {DType::kInt64, {-1}}},
                                               {"flags", {DType::kBool, {-1}}}}},
                                   1000);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const auto floats = inputs->at("float").flat<float>();
  EXPECT_THAT(floats, Each(AllOf(Ge(0), Le(1))));
  EXPECT_NE(floats[0], floats[1]);
  const auto ids = inputs->at("ids").flat<int64_t>();
  EXPECT_THAT(ids, Each(AllOf(Ge(0), Le(1))));
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 0) % 1000 > 0, true);
}

TEST(RandomInputsTest, InputsWithADefaultAreLeftOut) {
  const auto inputs = RandomInputs(
      {.inputs = {{"x", {DType::kFloat, {}}}, {"y", {DType::kString, {}}}}, .optional = {"y"}}, 1);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(inputs->size(), 1u);
}

TEST(RandomInputsTest, WhatCannotBeMadeIsNamed) {
  const absl::Status text =
      RandomInputs({.inputs = {{"text", {DType::kString, {-1}}}}}, 1).status();
  EXPECT_EQ(text.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(text.message()), AllOf(HasSubstr("'text'"), HasSubstr("--input")));
  for (const PartialShape& shape : {PartialShape{-1, 1 << 20}, PartialShape{-1, INT64_MAX / 2}}) {
    const absl::Status large =
        RandomInputs({.inputs = {{"x", {DType::kFloat, shape}}}}, 1000).status();
    EXPECT_FALSE(large.ok());
    EXPECT_THAT(std::string(large.message()), HasSubstr("'x'"));
  }
}

}  // namespace
}  // namespace tessera::serving

#include "runtime/optimize/absorb_scales.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using Ops = std::vector<std::string>;

const AbsorbScalesPass kAbsorb;
const AttrMap kConv = {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}};
const Tensor kImages = Ramp({2, 3, 3, 2}, 0.5f);

// Weights for two channels in and four out, scaled.
Endpoint Scaled(PassTestGraph& g, const Endpoint& weights, double first) {
  return g.Op("_ScaleWeights",
              {weights, g.Const(Tensor::Vector<double>({first, -1.0 / 3, 0, 1e-3}))});
}
Endpoint Weights(PassTestGraph& g) { return g.Const(Ramp({3, 3, 2, 4}, 0.3f)); }

Endpoint Fused(PassTestGraph& g, const Endpoint& filter) {
  AttrMap attrs = kConv;
  attrs.emplace("num_args", 1);
  attrs.emplace("TArgs", std::vector<DType>{DType::kFloat});
  attrs.emplace("fused_ops", Ops{"BiasAdd", "Relu"});
  return g.Op("_FusedConv2D", {g.Arg(DType::kFloat), filter, g.Const(Ramp({4}, -20))}, attrs);
}

TEST(AbsorbScalesTest, AConvolutionTakesTheScaleOfItsWeights) {
  PassTestGraph g;
  g.Result(g.Op("Conv2D", {g.Arg(DType::kFloat), Scaled(g, Weights(g), 2)}, kConv));
  EXPECT_TRUE(g.ExpectSameResults(kAbsorb, {kImages}));
  EXPECT_EQ(g.CountOf("_ScaleWeights"), 0);
  const Node* fused = g.Only("_FusedConv2D");
  EXPECT_THAT(*fused->attr<Ops>("fused_ops"), ElementsAre());
  EXPECT_EQ(g.graph.num_nodes(), 5) << "argument, weights, scale, convolution, result";
  EXPECT_FALSE(g.Apply(kAbsorb));
}

TEST(AbsorbScalesTest, WhatFollowsAConvolutionStaysWithIt) {
  PassTestGraph g;
  g.Result(Fused(g, Scaled(g, Weights(g), 2)));
  EXPECT_TRUE(g.ExpectSameResults(kAbsorb, {kImages}));
  EXPECT_EQ(g.CountOf("_ScaleWeights"), 0);
  EXPECT_THAT(*g.Only("_FusedConv2D")->attr<Ops>("fused_ops"), ElementsAre("BiasAdd", "Relu"));
}

TEST(AbsorbScalesTest, ConvolutionsShareWeightsOfDifferentScales) {
  PassTestGraph g;
  const Endpoint weights = Weights(g);
  const Endpoint x = g.Arg(DType::kFloat);
  for (const double first : {2.0, 0.25}) {
    g.Result(g.Op("Conv2D", {x, Scaled(g, weights, first)}, kConv));
  }
  g.Result(g.Op("Conv2D", {x, weights}, kConv));
  EXPECT_TRUE(g.ExpectSameResults(kAbsorb, {kImages}));
  EXPECT_EQ(g.CountOf("_FusedConv2D"), 2);
  EXPECT_EQ(g.CountOf("Conv2D"), 1);
  EXPECT_EQ(g.CountOf("Const"), 3) << "weights and two scales";
}

TEST(AbsorbScalesTest, ConvolutionsShareAScale) {
  PassTestGraph g;
  const Endpoint scaled = Scaled(g, Weights(g), 2);
  g.Result(Fused(g, scaled));
  g.Result(g.Op("Conv2D", {g.Arg(DType::kFloat), scaled}, kConv));
  EXPECT_TRUE(g.ExpectSameResults(kAbsorb, {kImages, kImages}));
  EXPECT_EQ(g.CountOf("_FusedConv2D"), 2);
  EXPECT_EQ(g.CountOf("_ScaleWeights"), 0);
}

TEST(AbsorbScalesTest, WhatOtherOpsReadBecomesAConstant) {
  PassTestGraph g;
  const Endpoint scaled = Scaled(g, Weights(g), 2);
  g.Result(g.Op("Conv2D", {g.Arg(DType::kFloat), scaled}, kConv));
  g.Result(g.Op("DepthwiseConv2dNative", {g.Arg(DType::kFloat), scaled}, kConv));
  EXPECT_TRUE(g.ExpectSameResults(kAbsorb, {kImages, kImages}));
  EXPECT_EQ(g.CountOf("_FusedConv2D"), 1);
  EXPECT_EQ(g.CountOf("_ScaleWeights"), 0);
}

TEST(AbsorbScalesTest, ScaledImagesAreNoFilter) {
  PassTestGraph g;
  const Endpoint scaled = Scaled(g, g.Const(Ramp({1, 3, 3, 4}, 0.5f)), 2);
  g.Result(g.Op("Conv2D", {scaled, g.Arg(DType::kFloat)}, kConv));
  EXPECT_TRUE(g.ExpectSameResults(kAbsorb, {Ramp({2, 2, 4, 2}, 1)}));
  EXPECT_EQ(g.CountOf("_FusedConv2D"), 0);
  EXPECT_EQ(g.CountOf("_ScaleWeights"), 0);
}

TEST(AbsorbScalesTest, ASecondScaleStaysOutside) {
  PassTestGraph g;
  g.Result(Fused(g, Scaled(g, Weights(g), 2)));
  ASSERT_TRUE(g.Apply(kAbsorb));
  Node* const fused = g.Only("_FusedConv2D");
  ASSERT_TRUE(g.graph.Connect(Scaled(g, fused->input(1), 3), fused, 1).ok());
  EXPECT_TRUE(g.ExpectSameResults(kAbsorb, {kImages}));
  EXPECT_EQ(g.CountOf("_ScaleWeights"), 0);
  EXPECT_EQ(g.Only("_FusedConv2D")->num_inputs(), 4);
}

TEST(AbsorbScalesTest, FactorsOfOtherThanChannelsStayOutside) {
  PassTestGraph g;
  const Endpoint scaled =
      g.Op("_ScaleWeights", {Weights(g), g.Const(Tensor::Vector<double>({2, -1}))});
  g.Result(g.Op("Conv2D", {g.Arg(DType::kFloat), scaled}, kConv));
  EXPECT_TRUE(g.ExpectSameResults(kAbsorb, {kImages}));
  EXPECT_EQ(g.CountOf("Conv2D"), 1);
  EXPECT_EQ(g.CountOf("_ScaleWeights"), 0);
}

TEST(AbsorbScalesTest, LeavesWhatVaries) {
  PassTestGraph g;
  g.Result(g.Op("Conv2D", {g.Arg(DType::kFloat), Scaled(g, g.Arg(DType::kFloat), 2)}, kConv));
  const Endpoint scaled = g.Op("_ScaleWeights", {Weights(g), g.Arg(DType::kDouble)});
  g.Result(g.Op("Conv2D", {g.Arg(DType::kFloat), scaled}, kConv));
  EXPECT_FALSE(g.Apply(kAbsorb));
}

TEST(AbsorbScalesTest, AConvolutionThatMustStayKeepsItsName) {
  PassTestGraph g;
  const Endpoint conv = g.Op("Conv2D", {g.Arg(DType::kFloat), Scaled(g, Weights(g), 2)}, kConv);
  g.Keep(conv.node);
  g.Result(conv);
  EXPECT_TRUE(g.ExpectSameResults(kAbsorb, {kImages}));
  EXPECT_EQ(g.CountOf("Conv2D"), 1);
  EXPECT_EQ(g.CountOf("_ScaleWeights"), 0) << "its weights are a constant";
}

}  // namespace
}  // namespace tessera

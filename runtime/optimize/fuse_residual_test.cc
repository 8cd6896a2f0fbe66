#include "runtime/optimize/fuse_residual.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/absorb_scales.h"
#include "runtime/optimize/fuse_post_ops.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

constexpr double kTolerance = 1e-6;
const FuseResidualPass kFuse;
const AttrMap kConv = {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}};

std::vector<std::string> FusedOps(const Node* node) {
  return node->attr<std::vector<std::string>>("fused_ops").value();
}

// conv(x) + bias, as one node.
Endpoint Biased(PassTestGraph& g, const Endpoint& x) {
  const Endpoint conv = g.Op("Conv2D", {x, g.Const(Ramp({3, 3, 2, 2}, 0.25f))}, kConv);
  return g.Op("BiasAdd", {conv, g.Const(Ramp({2}, -40))});
}

TEST(FuseResidualTest, ABranchIsAddedToAConvolution) {
  for (const char* activation : {"", "Relu", "Tanh"}) {
    for (const bool branch_first : {false, true}) {
      SCOPED_TRACE(absl::StrCat(activation, branch_first));
      PassTestGraph g;
      const Endpoint x = g.Arg(DType::kFloat);
      const Endpoint conv = Biased(g, x);
      const Endpoint branch = g.Op("Neg", {x});
      const Endpoint sum =
          branch_first ? g.Op("AddV2", {branch, conv}) : g.Op("AddV2", {conv, branch});
      g.Result(*activation == 0 ? sum : g.Op(activation, {sum}));
      ASSERT_TRUE(g.Apply(FusePostOpsPass()));
      EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({1, 4, 4, 2}, 0.5f)}, kTolerance));
      std::vector<std::string> ops = {"BiasAdd", "Add"};
      if (*activation != 0) ops.push_back(activation);
      EXPECT_EQ(FusedOps(g.Only("_FusedConv2D")), ops);
      EXPECT_EQ(g.CountOf("AddV2"), 0);
    }
  }
}

TEST(FuseResidualTest, ABranchIsAddedToAConvolutionOfScaledWeights) {
  for (const bool is_absorbed : {false, true}) {
    PassTestGraph g;
    const Endpoint x = g.Arg(DType::kFloat);
    const Endpoint weights = g.Op("_ScaleWeights", {g.Const(Ramp({3, 3, 2, 2}, 0.25f)),
                                                    g.Const(Tensor::Vector<double>({2, -0.5}))});
    const Endpoint conv = g.Op("Conv2D", {x, weights}, kConv);
    const Endpoint biased = g.Op("BiasAdd", {conv, g.Const(Ramp({2}, -40))});
    g.Result(g.Op("Relu", {g.Op("AddV2", {g.Op("Neg", {x}), biased})}));
    ASSERT_TRUE(g.Apply(FusePostOpsPass()));
    if (is_absorbed) {
      ASSERT_TRUE(g.Apply(AbsorbScalesPass()));
    }
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({1, 4, 4, 2}, 0.5f)}, kTolerance));
    EXPECT_THAT(FusedOps(g.Only("_FusedConv2D")), ElementsAre("BiasAdd", "Add", "Relu"));
    EXPECT_EQ(g.CountOf("_ScaleWeights"), is_absorbed ? 0 : 1);
  }
}

TEST(FuseResidualTest, ABranchThatOthersReadStaysAsItIs) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint branch = g.Op("Neg", {x});
  g.Result(g.Op("AddV2", {Biased(g, x), branch}));
  g.Result(branch);
  ASSERT_TRUE(g.Apply(FusePostOpsPass()));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({1, 4, 4, 2}, 0.5f)}, kTolerance));
  EXPECT_EQ(g.CountOf("AddV2"), 0);
}

TEST(FuseResidualTest, ShapesThatBroadcastGiveTheSame) {
  for (const Shape& other : {Shape{1, 4, 1, 2}, Shape{4, 4, 4, 2}, Shape{2}, Shape{}}) {
    SCOPED_TRACE(other.ToString());
    PassTestGraph g;
    const Endpoint sum = g.Op("AddV2", {Biased(g, g.Arg(DType::kFloat)), g.Arg(DType::kFloat)});
    g.Result(g.Op("Relu", {sum}));
    ASSERT_TRUE(g.Apply(FusePostOpsPass()));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({1, 4, 4, 2}, 0.5f), Ramp(other, 1)}, kTolerance));
    EXPECT_EQ(g.CountOf("AddV2"), 0);
  }
}

TEST(FuseResidualTest, ABranchIsAddedToAMatrixProduct) {
  PassTestGraph g;
  const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 4}, 1))});
  const Endpoint biased = g.Op("BiasAdd", {product, g.Const(Ramp({4}, 1))});
  g.Result(g.Op("Add", {g.Arg(DType::kFloat), biased}));
  ASSERT_TRUE(g.Apply(FusePostOpsPass()));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({2, 3}, 1), Ramp({2, 4}, -7)}, kTolerance));
  EXPECT_THAT(FusedOps(g.Only("_FusedMatMul")), ElementsAre("BiasAdd", "Add"));
}

TEST(FuseResidualTest, AProductWithoutABiasIsAddedToASum) {
  for (const std::string sum : {"AddV2", "AddN"}) {
    PassTestGraph g;
    const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat),
                   before = g.Arg(DType::kFloat);
    const Endpoint product = g.Op("MatMul", {x, y}, {{"T", DType::kFloat}, {"transpose_a", true}});
    AttrMap attrs = {{"T", DType::kFloat}};
    if (sum == "AddN") attrs.emplace("N", 2);
    g.Result(g.Op(sum, {before, product}, attrs));
    EXPECT_TRUE(g.ExpectSameResults(
        kFuse, {Ramp({7, 30}, 0.1f), Ramp({7, 40}, 0.2f), Ramp({30, 40}, -3)}, kTolerance));
    EXPECT_THAT(FusedOps(g.Only("_FusedMatMul")), ElementsAre(sum == "AddN" ? "AddN" : "Add"));
    EXPECT_EQ(g.CountOf(sum), 0);
  }
}

TEST(FuseResidualTest, ABranchIsAddedToAProductOfAnyRankByOneMatrix) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint product = g.Op("BatchMatMulV2", {x, g.Const(Ramp({3, 3}, 1))});
  g.Result(g.Op("AddV2", {x, product}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({2, 5, 3}, 1)}, kTolerance));
  EXPECT_THAT(FusedOps(g.Only("_FusedBatchMatMulV2")), ElementsAre("Add"));
  PassTestGraph batch;
  const Endpoint products =
      batch.Op("BatchMatMulV2", {batch.Arg(DType::kFloat), batch.Arg(DType::kFloat)});
  batch.Result(batch.Op("AddV2", {products, batch.Arg(DType::kFloat)}));
  EXPECT_FALSE(batch.Apply(kFuse));
}

TEST(FuseResidualTest, WhatOthersUseIsNotTakenAway) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint conv = Biased(g, x);
  g.Result(g.Op("AddV2", {conv, x}));
  g.Result(conv);
  ASSERT_TRUE(g.Apply(FusePostOpsPass()));
  EXPECT_FALSE(g.Apply(kFuse));

  PassTestGraph h;  // a product that is added to itself
  const Endpoint twice = Biased(h, h.Arg(DType::kFloat));
  h.Result(h.Op("AddV2", {twice, twice}));
  ASSERT_TRUE(h.Apply(FusePostOpsPass()));
  EXPECT_FALSE(h.Apply(kFuse));
}

}  // namespace
}  // namespace tessera

#include "runtime/optimize/fuse_post_ops.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr double kTolerance = 1e-6;
const FusePostOpsPass kFuse;

std::vector<std::string> FusedOps(const Node* node) {
  return node->attr<std::vector<std::string>>("fused_ops").value();
}

TEST(FusePostOpsTest, MatMulBiasAndActivation) {
  for (const char* activation : {"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"}) {
    SCOPED_TRACE(activation);
    PassTestGraph g;
    const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 4}, 0.25f))});
    const Endpoint biased =
        g.Op("BiasAdd", {product, g.Const(Tensor::Vector<float>({-1, -2, -8, 4}))});
    g.Result(
        g.Op(activation, {biased},
             absl::string_view(activation) == "LeakyRelu" ? AttrMap{{"alpha", 0.3f}} : AttrMap{}));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({2, 3}, 0.5f)}, kTolerance));
    EXPECT_THAT(FusedOps(g.Only("_FusedMatMul")), ElementsAre("BiasAdd", activation));
    EXPECT_EQ(g.graph.num_nodes(), 5);
  }
}

TEST(FusePostOpsTest, StepsOfHalfStayApartOnACpu) {
  for (const DType dtype : {DType::kHalf, DType::kBfloat16}) {
    PassTestGraph g;
    const Endpoint product = g.Op("MatMul", {g.Arg(dtype), g.Const(*Tensor::Zeros(dtype, {3, 4}))});
    g.Result(g.Op("Tanh", {g.Op("BiasAdd", {product, g.Const(*Tensor::Zeros(dtype, {4}))})}));
    EXPECT_EQ(g.Apply(kFuse), dtype == DType::kBfloat16);
    EXPECT_EQ(g.CountOf("_FusedMatMul"), dtype == DType::kBfloat16 ? 1 : 0);
  }
}

// x * sigmoid(scale * x) of a biased product; without a multiplication if `scale` is 0.
Endpoint Swish(PassTestGraph& g, const Endpoint& x, float scale, bool gate_first) {
  const Endpoint argument = scale == 0 ? x : g.Op("Mul", {g.Const(Tensor::Scalar(scale)), x});
  const Endpoint gate = g.Op("Sigmoid", {argument});
  return gate_first ? g.Op("Mul", {gate, x}) : g.Op("Mul", {x, gate});
}

TEST(FusePostOpsTest, SwishOfAProduct) {
  for (const float scale : {0.0f, 1.0f}) {
    for (const bool gate_first : {false, true}) {
      PassTestGraph g;
      const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 4}, 0.25f))});
      const Endpoint biased =
          g.Op("BiasAdd", {product, g.Const(Tensor::Vector<float>({-1, -2, -8, 4}))});
      g.Result(Swish(g, biased, scale, gate_first));
      EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({2, 3}, 0.5f)}, kTolerance));
      EXPECT_THAT(FusedOps(g.Only("_FusedMatMul")), ElementsAre("BiasAdd", "Swish"));
      EXPECT_EQ(g.CountOf("Sigmoid"), 0);
    }
  }
}

TEST(FusePostOpsTest, SwishOfADepthwiseConvolution) {
  PassTestGraph g;
  const Endpoint conv =
      g.Op("DepthwiseConv2dNative", {g.Arg(DType::kFloat), g.Const(Ramp({3, 3, 20, 1}, 0.125f))},
           {{"strides", std::vector<int64_t>{1, 2, 2, 1}}, {"padding", "SAME"}});
  g.Result(Swish(g, g.Op("BiasAdd", {conv, g.Const(Ramp({20}, -3))}), 1, false));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({2, 5, 5, 20}, 0.01f)}, kTolerance));
  EXPECT_THAT(FusedOps(g.Only("_FusedDepthwiseConv2dNative")), ElementsAre("BiasAdd", "Swish"));
}

TEST(FusePostOpsTest, WhatIsNoSwishOfItsOwnStays) {
  enum Reason { kScaledByTwo, kGateOfAnother, kGateIsUsed, kArgumentIsUsed, kProductIsUsed };
  for (const Reason reason :
       {kScaledByTwo, kGateOfAnother, kGateIsUsed, kArgumentIsUsed, kProductIsUsed}) {
    SCOPED_TRACE(reason);
    PassTestGraph g;
    const Endpoint x = g.Arg(DType::kFloat);
    const Endpoint product = g.Op("MatMul", {x, g.Const(Ramp({3, 4}, 0.25f))});
    const Endpoint biased = g.Op("BiasAdd", {product, g.Const(Ramp({4}, -1))});
    const Endpoint one = g.Const(Tensor::Scalar(reason == kScaledByTwo ? 2.0f : 1.0f));
    const Endpoint argument = g.Op("Mul", {one, biased});
    const Endpoint gate =
        g.Op("Sigmoid", {reason == kGateOfAnother ? g.Op("Neg", {argument}) : argument});
    g.Result(g.Op("Mul", {biased, gate}));
    if (reason == kGateIsUsed) g.Result(gate);
    if (reason == kArgumentIsUsed) g.Result(argument);
    if (reason == kProductIsUsed) g.Result(biased);
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({2, 3}, 0.5f)}, kTolerance));
    EXPECT_THAT(FusedOps(g.Only("_FusedMatMul")), ElementsAre("BiasAdd"));
    EXPECT_EQ(g.CountOf("Sigmoid"), 1);
  }
}

TEST(FusePostOpsTest, ProductsOfAnyRankByOneMatrix) {
  for (const bool transposes : {false, true}) {
    PassTestGraph g;
    const Endpoint weights = g.Const(Ramp(transposes ? Shape{4, 3} : Shape{3, 4}, 0.25f));
    const Endpoint product =
        g.Op("BatchMatMulV2", {g.Arg(DType::kFloat), weights}, {{"adj_y", transposes}});
    const Endpoint bias = g.Const(Tensor::Vector<float>({-1, -2, -8, 4}));
    g.Result(g.Op("Relu", {g.Op("AddV2", {bias, product})}));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({2, 5, 3}, 0.5f)}, kTolerance));
    EXPECT_THAT(FusedOps(g.Only("_FusedBatchMatMulV2")), ElementsAre("BiasAdd", "Relu"));
    // No row at all, and a tensor of another rank.
    EXPECT_EQ(g.Run({Ramp({2, 0, 3}, 0.5f)}).value()[0].shape(), Shape({2, 0, 4}));
    EXPECT_EQ(g.Run({Ramp({5, 3}, 0.5f)}).value()[0].shape(), Shape({5, 4}));
    EXPECT_FALSE(g.Run({Ramp({5, 2}, 0.5f)}).ok());
  }
}

TEST(FusePostOpsTest, ABatchOfMatricesTakesNoBias) {
  PassTestGraph g;
  const Endpoint product =
      g.Op("BatchMatMulV2", {g.Arg(DType::kFloat), g.Const(Ramp({2, 3, 4}, 0.25f))});
  g.Result(g.Op("AddV2", {product, g.Const(Ramp({4}, 1))}));
  EXPECT_FALSE(g.Apply(kFuse));
}

TEST(FusePostOpsTest, ConvolutionsWithEitherAddition) {
  const struct {
    const char* op;
    const char* addition;
    Shape filter;
    Shape bias;
  } kCases[] = {{"Conv2D", "BiasAdd", {2, 2, 3, 4}, {4}},
                {"Conv2D", "AddV2", {2, 2, 3, 4}, {1, 1, 1, 4}},
                {"DepthwiseConv2dNative", "AddV2", {2, 2, 3, 2}, {6}},
                {"DepthwiseConv2dNative", "BiasAdd", {2, 2, 3, 1}, {3}}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.op, " ", c.addition));
    PassTestGraph g;
    const Endpoint conv =
        g.Op(c.op, {g.Arg(DType::kFloat), g.Const(Ramp(c.filter, 0.125f))},
             {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}});
    g.Result(g.Op("Relu", {g.Op(c.addition, {conv, g.Const(Ramp(c.bias, -20))})}));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({1, 4, 4, 3}, 0.5f)}, kTolerance));
    EXPECT_THAT(FusedOps(g.Only(absl::StrCat("_Fused", c.op))), ElementsAre("BiasAdd", "Relu"));
  }
}

TEST(FusePostOpsTest, TheVectorMayStandFirstAndComeFromAVariable) {
  PassTestGraph g;
  auto variable = MakeRefCounted<Variable>(DType::kFloat, PartialShape({4}));
  variable->Assign(Ramp({4}, 1));
  ASSERT_TRUE(g.resources.Create("", Variable::kTypeName, "v", variable).ok());
  const Endpoint handle =
      g.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({4})}}, "v");
  const Endpoint bias = g.Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
  const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 4}, 1))});
  g.Result(g.Op("AddV2", {bias, product}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({2, 3}, 1)}, kTolerance));
  EXPECT_THAT(FusedOps(g.Only("_FusedMatMul")), ElementsAre("BiasAdd"));
}

TEST(FusePostOpsTest, AdditionsThatAreNoBiasStay) {
  // A matrix, a vector of another length that broadcasts, a column, weights of unknown shape.
  for (const Shape& other : {Shape{2, 4}, Shape{1}, Shape{2, 1}}) {
    PassTestGraph g;
    const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 4}, 1))});
    g.Result(g.Op("AddV2", {product, g.Const(Ramp(other, 1))}));
    EXPECT_FALSE(g.Apply(kFuse)) << other.ToString();
  }
  PassTestGraph g;
  const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Arg(DType::kFloat)});
  g.Result(g.Op("AddV2", {product, g.Const(Ramp({4}, 1))}));
  EXPECT_FALSE(g.Apply(kFuse));
}

TEST(FusePostOpsTest, WhatOthersUseIsNotTakenAway) {
  PassTestGraph g;
  const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 4}, 1))});
  const Endpoint biased = g.Op("BiasAdd", {product, g.Const(Ramp({4}, 1))});
  g.Result(g.Op("Relu", {biased}));
  g.Result(biased);
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({2, 3}, 1)}, kTolerance));
  EXPECT_THAT(FusedOps(g.Only("_FusedMatMul")), ElementsAre("BiasAdd")) << "Relu's input is wanted";
  EXPECT_EQ(g.CountOf("Relu"), 1);

  PassTestGraph h;
  const Endpoint wanted = h.Op("MatMul", {h.Arg(DType::kFloat), h.Const(Ramp({3, 4}, 1))});
  h.Result(h.Op("BiasAdd", {wanted, h.Const(Ramp({4}, 1))}));
  h.Result(wanted);
  EXPECT_FALSE(h.Apply(kFuse));
}

TEST(FusePostOpsTest, DtypesThatTheFusedOpLacksStay) {
  PassTestGraph g;
  const Endpoint weights = g.Const(Tensor::Of<double>({1, 1}, {2}));
  const Endpoint product = g.Op("MatMul", {g.Arg(DType::kDouble), weights});
  g.Result(g.Op("BiasAdd", {product, g.Const(Tensor::Vector<double>({1}))}));
  EXPECT_FALSE(g.Apply(kFuse));
}

TEST(FusePostOpsTest, ControlEdgesMoveToTheFusedNode) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint product = g.Op("MatMul", {x, g.Const(Ramp({3, 4}, 1))});
  const Endpoint biased = g.Op("BiasAdd", {product, g.Const(Ramp({4}, 1))});
  g.graph.AddControlEdge(g.Arg(DType::kBool).node, biased.node);
  Node* result = g.Result(biased);
  Node* other = g.Result(x);
  g.graph.AddControlEdge(biased.node, other);
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({2, 3}, 1), Tensor::Scalar(true)}, kTolerance));
  EXPECT_EQ(result->input(0).node->control_inputs().size(), 1u);
  EXPECT_THAT(other->control_inputs(), ElementsAre(g.Only("_FusedMatMul")));
}

TEST(FusePostOpsTest, NodesThatOthersWaitForStay) {
  {
    PassTestGraph g;  // the bias waits for the product
    const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 4}, 1))});
    const Endpoint bias = g.Op("Neg", {g.Const(Ramp({4}, 1))});
    g.graph.AddControlEdge(product.node, bias.node);
    g.Result(g.Op("BiasAdd", {product, bias}));
    EXPECT_FALSE(g.ExpectSameResults(kFuse, {Ramp({2, 3}, 1)}));
  }
  {
    PassTestGraph g;  // what the activation waits for waits for the addition
    const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 4}, 1))});
    const Endpoint biased = g.Op("BiasAdd", {product, g.Const(Ramp({4}, 1))});
    const Endpoint between = g.Op("Neg", {g.Const(Ramp({4}, 1))});
    const Endpoint activated = g.Op("Relu", {biased});
    g.graph.AddControlEdge(biased.node, between.node);
    g.graph.AddControlEdge(between.node, activated.node);
    g.Result(activated);
    g.ExpectSameResults(kFuse, {Ramp({2, 3}, 1)}, kTolerance);
    EXPECT_THAT(FusedOps(g.Only("_FusedMatMul")), ElementsAre("BiasAdd"));
    EXPECT_EQ(g.CountOf("Relu"), 1);
  }
}

TEST(FusePostOpsTest, WhatTheNodesInsideAChainWaitForIsAwaitedByTheFusedNode) {
  PassTestGraph g;
  const Endpoint product = g.Op("MatMul", {g.Arg(DType::kFloat), g.Const(Ramp({3, 4}, 1))});
  const Endpoint biased = g.Op("BiasAdd", {product, g.Const(Ramp({4}, 1))});
  Node* const before = g.Arg(DType::kBool).node;
  Node* const between = g.Arg(DType::kBool).node;
  g.graph.AddControlEdge(before, product.node);
  g.graph.AddControlEdge(between, biased.node);
  g.Result(g.Op("Relu", {biased}));
  EXPECT_TRUE(g.ExpectSameResults(
      kFuse, {Ramp({2, 3}, 1), Tensor::Scalar(true), Tensor::Scalar(true)}, kTolerance));
  EXPECT_THAT(g.Only("_FusedMatMul")->control_inputs(), UnorderedElementsAre(before, between));
}

}  // namespace
}  // namespace tessera

#include "runtime/optimize/fuse_elementwise.h"

#include <limits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

const FuseElementwisePass kFuse;

Endpoint Int(PassTestGraph& g, int32_t value) { return g.Const(Tensor::Scalar(value)); }

TEST(FuseElementwiseTest, ChainWithSeveralResultsIsOneNode) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat);
  const Endpoint sum = g.Op("AddV2", {x, y});
  const Endpoint tanh = g.Op("Tanh", {sum});
  g.Result(g.Op("Mul", {tanh, x}));
  g.Result(sum);
  g.Result(g.Op("TanhGrad", {tanh, y}));
  // More elements than fit a chunk, and not a multiple of one.
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({37, 301}, 0.01f), Ramp({37, 301}, -0.02f)}));
  EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
  EXPECT_EQ(g.CountOf("Tanh"), 0);
}

TEST(FuseElementwiseTest, BroadcastsOfAnyShape) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), column = g.Arg(DType::kFloat);
  const Endpoint row = g.Arg(DType::kFloat), middle = g.Arg(DType::kFloat);
  // A small value that larger ones read, and a result of each shape.
  const Endpoint root = g.Op("Rsqrt", {g.Op("AddV2", {column, g.Const(Tensor::Scalar(2.0f))})});
  const Endpoint scaled = g.Op("Mul", {g.Op("Mul", {root, row}), x});
  g.Result(root);
  g.Result(g.Op("Sub", {scaled, middle}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({3, 5, 7, 4}, 0.1f), Ramp({3, 5, 7, 1}, 0.3f),
                                          Ramp({4}, 0.7f), Ramp({5, 1, 4}, 0.2f)}));
  EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
  // The same node for other shapes, one of them without elements.
  EXPECT_FALSE(g.ExpectSameResults(
      kFuse, {Ramp({2, 1, 7, 1}, 0.1f), Ramp({1}, 0.3f), Ramp({6}, 0.7f), Ramp({5, 1, 1}, 0.2f)}));
  EXPECT_FALSE(g.ExpectSameResults(
      kFuse, {Ramp({0, 5, 7, 4}, 0.1f), Ramp({1}, 0.3f), Ramp({4}, 0.7f), Ramp({1}, 0.2f)}));
}

// What prepares images has an operand for each of three colours; another one is for each point.
TEST(FuseElementwiseTest, ManyRowsOfFewColumns) {
  const Tensor images = Ramp({2, 23, 31, 3}, 0.01f), mean = Ramp({3}, 0.7f);
  const Tensor deviation = Tensor::Of<float>({1, 1, 1, 3}, {0.5f, 2.0f, -3.0f});
  for (const Shape& shape :
       {images.shape(), Shape({3}), Shape({2, 23, 31, 1}), Shape({31, 1}), Shape({})}) {
    SCOPED_TRACE(shape.ToString());
    PassTestGraph g;
    const Endpoint x = g.Arg(DType::kFloat), m = g.Arg(DType::kFloat), d = g.Arg(DType::kFloat);
    const Endpoint scaled = g.Op("Mul", {x, g.Const(Tensor::Scalar(0.125f))});
    const Endpoint normal = g.Op("RealDiv", {g.Op("Sub", {scaled, m}), d});
    g.Result(normal);
    g.Result(g.Op("SelectV2",
                  {g.Op("Less", {m, d}), g.Op("AddV2", {normal, g.Arg(DType::kFloat)}), scaled},
                  {{"T", DType::kFloat}}));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {images, mean, deviation, Ramp(shape, 0.02f)}));
    EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
  }
}

TEST(FuseElementwiseTest, PartsOfInputsAndJoinedResults) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), c = g.Arg(DType::kFloat);
  Node* const split =
      g.OpNode("Split", {Int(g, 1), x}, {{"T", DType::kFloat}, {"num_split", 3}}, "split");
  const Endpoint gate = g.Op("Sigmoid", {{split, 1}});
  const Endpoint value = g.Op("Mul", {gate, g.Op("Tanh", {{split, 2}})});
  const Endpoint next = g.Op("AddV2", {value, c});
  g.Result(next);
  g.Result(g.Op("ConcatV2", {g.Op("SigmoidGrad", {gate, next}), g.Op("Neg", {value}), Int(g, -1)},
                {{"T", DType::kFloat}, {"N", 2}}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({40, 150}, 0.001f), Ramp({40, 50}, 0.002f)}));
  EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
  EXPECT_EQ(g.CountOf("Split"), 0);
  EXPECT_EQ(g.CountOf("ConcatV2"), 0);
  EXPECT_FALSE(g.Run({Ramp({40, 151}, 1), Ramp({40, 50}, 1)}).ok());
}

TEST(FuseElementwiseTest, WhatOneConcatJoinsIsOneGroup) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat);
  g.Result(g.Op("ConcatV2", {g.Op("Neg", {g.Op("Abs", {x})}), g.Op("Exp", {y}), Int(g, 0)},
                {{"T", DType::kFloat}, {"N", 2}}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({2, 3, 4}, 0.1f), Ramp({5, 3, 4}, 0.1f)}));
  EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
  EXPECT_EQ(g.CountOf("ConcatV2"), 0);
  EXPECT_FALSE(g.Run({Ramp({2, 3, 4}, 1), Ramp({5, 2, 4}, 1)}).ok());
}

// The sums of |x| along the rows: what uses them cannot be in a group with what they are made of.
Endpoint SumOfAbs(PassTestGraph& g, const Endpoint& x) {
  return g.Op("Sum", {g.Op("Abs", {x}), Int(g, 1)}, {{"T", DType::kFloat}, {"keep_dims", true}});
}

TEST(FuseElementwiseTest, FunctionsOfOneValueAreMadeWhereTheyAreUsed) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint scaled = g.Op("Mul", {x, g.Const(Tensor::Scalar(0.5f))});
  const Endpoint derivative = g.Op("Exp", {g.Op("Neg", {g.Op("Square", {scaled})})});
  g.Result(g.Op("Sub", {g.Op("Mul", {derivative, SumOfAbs(g, x)}), scaled}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({9, 11}, 0.03f)}));
  EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
  EXPECT_EQ(g.CountOf("Mul") + g.CountOf("Exp"), 0);
}

TEST(FuseElementwiseTest, SumsOfTwoValuesStayWhereTheyAre) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat);
  g.Result(g.Op("Neg", {g.Op("Exp", {g.Op("Mul", {g.Op("AddV2", {x, y}), SumOfAbs(g, x)})})}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({9, 11}, 0.03f), Ramp({9, 11}, 0.02f)}));
  EXPECT_EQ(g.CountOf("AddV2"), 1);
}

TEST(FuseElementwiseTest, WhatDependsOnAReductionOfTheGroupIsAnotherGroup) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint squares = g.Op("Square", {g.Op("Neg", {g.Op("Tanh", {x})})});
  const Endpoint sum =
      g.Op("Sum", {squares, Int(g, 1)}, {{"T", DType::kFloat}, {"keep_dims", true}});
  g.Result(g.Op("Neg", {g.Op("Exp", {g.Op("RealDiv", {squares, sum})})}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({9, 11}, 0.25f)}));
  EXPECT_EQ(g.CountOf("_FusedElementwise"), 2);
}

TEST(FuseElementwiseTest, ChoicesAndWhatDecidesThem) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat);
  const Endpoint one = g.Const(Tensor::Scalar(1.0f));
  const Endpoint is_small = g.Op("Less", {g.Op("Abs", {x}), one});
  const Endpoint is_positive = g.Op("Greater", {x, y});
  const Endpoint both = g.Op("LogicalAnd", {is_small, g.Op("LogicalNot", {is_positive})});
  const Endpoint chosen =
      g.Op("SelectV2", {is_small, g.Op("Square", {x}), one}, {{"T", DType::kFloat}});
  g.Result(g.Op("SelectV2", {both, chosen, g.Op("Neg", {y})}, {{"T", DType::kFloat}}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({37, 301}, 0.001f), Ramp({301}, 0.02f)}));
  EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
  EXPECT_EQ(g.CountOf("SelectV2"), 0);
  EXPECT_EQ(g.CountOf("Less"), 0);
  // A condition that is smaller than what it decides, NaNs, and nothing.
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(g.ExpectSameResults(
      kFuse, {Tensor::Of<float>({3, 1}, {nan, 0.5f, -3}), Tensor::Of<float>({2}, {0.1f, nan})}));
  EXPECT_FALSE(g.ExpectSameResults(kFuse, {Ramp({0, 301}, 1), Ramp({1}, 1)}));
}

TEST(FuseElementwiseTest, ChoicesBetweenANumberAndAValue) {
  for (const bool number_first : {true, false}) {
    PassTestGraph g;
    const Endpoint x = g.Arg(DType::kFloat), one = g.Const(Tensor::Scalar(1.0f));
    const Endpoint is_small = g.Op("Less", {g.Op("Abs", {x}), one});
    const Endpoint other = g.Op("Neg", {g.Op("Square", {x})});
    g.Result(g.Op("SelectV2", {is_small, number_first ? one : other, number_first ? other : one},
                  {{"T", DType::kFloat}}));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({37, 301}, 0.001f)}));
    EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
  }
}

// Products that feed sums, in each order of their operands, and one that something else reads too.
TEST(FuseElementwiseTest, PolynomialsKeepTheirRoundings) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat);
  const auto number = [&](float value) { return g.Const(Tensor::Scalar(value)); };
  Endpoint sum = number(0.1f);
  for (int i = 0; i < 6; ++i) {
    const Endpoint product = i % 2 == 0 ? g.Op("Mul", {sum, x}) : g.Op("Mul", {x, sum});
    const Endpoint addend = i == 3 ? y : number(0.3f + static_cast<float>(i));
    sum = i % 3 == 0 ? g.Op("AddV2", {addend, product}) : g.Op("AddV2", {product, addend});
  }
  const Endpoint shared = g.Op("Mul", {sum, number(0.7f)});
  g.Result(g.Op("Mul", {g.Op("AddV2", {shared, x}), g.Op("AddV2", {shared, shared})}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({37, 301}, 0.0001f), Ramp({301}, 0.01f)}));
  EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
  EXPECT_FALSE(g.ExpectSameResults(kFuse, {Ramp({3, 1}, 0.1f), Ramp({5}, 0.01f)}));
  EXPECT_FALSE(g.ExpectSameResults(kFuse, {Ramp({}, 0.1f), Ramp({1}, 0.01f)}));
}

// More values than are kept in the largest chunks, and bools among floats, which take the places of
// values that are not read any more.
TEST(FuseElementwiseTest, ManyValuesAtOnce) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  std::vector<Endpoint> values;
  for (int i = 0; i < 11; ++i) {
    values.push_back(g.Op("Mul", {x, g.Const(Tensor::Scalar(0.5f + static_cast<float>(i)))}));
  }
  Endpoint sum = x;
  for (const Endpoint& value : values) {
    const Endpoint is_less = g.Op("Less", {sum, g.Op("Square", {value})});
    sum = g.Op("AddV2", {g.Op("SelectV2", {is_less, sum, value}, {{"T", DType::kFloat}}), value});
  }
  g.Result(sum);
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({37, 301}, 0.001f)}));
  EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
}

TEST(FuseElementwiseTest, ABoolThatOthersReadStaysANode) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), mask = g.Arg(DType::kBool);
  const Endpoint is_small = g.Op("Less", {g.Op("Abs", {x}), g.Const(Tensor::Scalar(1.0f))});
  const Endpoint chosen = g.Op("SelectV2", {is_small, x, g.Op("Neg", {x})}, {{"T", DType::kFloat}});
  const Endpoint masked = g.Op("SelectV2", {mask, chosen, x}, {{"T", DType::kFloat}});
  g.Result(is_small);
  g.Result(g.Op("Exp", {g.Op("Tanh", {g.Op("Sqrt", {masked})})}));
  EXPECT_TRUE(
      g.ExpectSameResults(kFuse, {Ramp({5, 3}, 0.2f), Tensor::Of<bool>({3}, {true, false, true})}));
  EXPECT_EQ(g.CountOf("Less"), 1);
  EXPECT_EQ(g.CountOf("SelectV2"), 2);
  EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
}

TEST(FuseElementwiseTest, AddNKeepsItsOrderAndItsCheck) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat), z = g.Arg(DType::kFloat);
  const Endpoint total = g.Op("AddN", {x, y, z}, {{"T", DType::kFloat}, {"N", 3}}, "total");
  g.Result(g.Op("Tanh", {g.Op("Neg", {total})}));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({50}, 1e-3f), Ramp({50}, 1e4f), Ramp({50}, -1e4f)}));
  const auto result = g.Run({Ramp({50}, 1), Ramp({50}, 1), Ramp({1}, 1)});
  EXPECT_THAT(result.status().message(), HasSubstr("node 'total'"));
}

// A program has a limited number of steps, of which a sum of n values takes n - 1.
TEST(FuseElementwiseTest, GroupsWithLongSumsAreSplit) {
  for (const int count : {60, 101, 102, 300}) {
    SCOPED_TRACE(count);
    PassTestGraph g;
    const Endpoint x = g.Arg(DType::kFloat);
    std::vector<Endpoint> values;
    for (int i = 0; i < count; ++i) {
      values.push_back(g.Op("Mul", {x, g.Const(Tensor::Scalar(0.5f + static_cast<float>(i)))}));
    }
    const Endpoint sum = g.Op("AddN", values, {{"T", DType::kFloat}, {"N", count}});
    g.Result(g.Op("Tanh", {g.Op("Neg", {g.Op("Abs", {sum})})}));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({5, 3}, 1e-5f)}));
    EXPECT_EQ(g.CountOf("Tanh"), 0);
    EXPECT_EQ(g.CountOf("AddN"), count > 60 ? 1 : 0);
  }
}

TEST(FuseElementwiseTest, ShapesThatDoNotBroadcastNameTheNode) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat);
  g.Result(g.Op("Abs", {g.Op("Neg", {g.Op("Mul", {x, y}, {}, "product")})}));
  EXPECT_TRUE(g.Apply(kFuse));
  const auto result = g.Run({Ramp({3}, 1), Ramp({4}, 1)});
  EXPECT_THAT(result.status().message(), HasSubstr("node 'product'"));
}

TEST(FuseElementwiseTest, GradientsTakeOperandsOfOneSizeAndOtherShapes) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3, 5}, {5, 6}}, {{30}, {1, 30}}, {{1, 30}, {30}}, {{1}, {}}, {{0}, {3, 0}}};
  for (const auto& [a, b] : shapes) {
    PassTestGraph g;
    const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat);
    // An input and a value of the group are read as if they had another shape.
    const Endpoint tanh = g.Op("Tanh", {x});
    g.Result(g.Op("TanhGrad", {tanh, y}));
    g.Result(g.Op("SigmoidGrad", {y, tanh}));
    g.Result(g.Op("Neg", {y}));
    EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp(a, 0.1f), Ramp(b, 0.2f)}));
    EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
    // Nothing is repeated.
    EXPECT_EQ(g.Run({Ramp({30}, 1), Ramp({1}, 1)}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(FuseElementwiseTest, InputsThatOthersHoldAreNotOverwritten) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint doubled = g.Op("MatMul", {x, g.Const(Ramp({2, 2}, 1))});
  const Endpoint exp = g.Op("Exp", {doubled});
  g.Result(g.Op("AddV2", {g.Op("Mul", {exp, exp}), doubled}));
  g.Result(exp);
  const Tensor arg = Ramp({3, 2}, 0.5f);
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {arg}));
  EXPECT_EQ(arg.flat<float>()[5], 2.5f);
}

TEST(FuseElementwiseTest, EveryOpGivesTheSameBits) {
  const std::vector<std::string> unary = {
      "Abs",   "Elu",      "Erf",        "Erfc", "Exp",    "Expm1", "Inv",  "Log",
      "Log1p", "Neg",      "Reciprocal", "Relu", "Relu6",  "Rsqrt", "Selu", "Sigmoid",
      "Sign",  "Softplus", "Softsign",   "Sqrt", "Square", "Tanh"};
  const std::vector<std::string> binary = {"Add",          "AddV2",       "Div",
                                           "DivNoNan",     "EluGrad",     "InvGrad",
                                           "Maximum",      "Minimum",     "Mul",
                                           "MulNoNan",     "RealDiv",     "ReciprocalGrad",
                                           "ReluGrad",     "Relu6Grad",   "RsqrtGrad",
                                           "SeluGrad",     "SigmoidGrad", "SoftplusGrad",
                                           "SoftsignGrad", "SqrtGrad",    "SquaredDifference",
                                           "Sub",          "TanhGrad"};
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat);
  const Endpoint sum = g.Op("AddV2", {x, y});
  for (const std::string& op : unary) g.Result(g.Op(op, {sum}, {}, op));
  for (const std::string& op : binary) g.Result(g.Op(op, {sum, y}, {}, op));
  EXPECT_TRUE(g.ExpectSameResults(kFuse, {Ramp({5, 333}, 0.003f), Ramp({5, 333}, -0.001f)}));
  EXPECT_EQ(g.CountOf("_FusedElementwise"), 1);
}

TEST(FuseElementwiseTest, APairStaysAsItIs) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  g.Result(g.Op("AddV2", {g.Op("Mul", {x, x}), x}));
  EXPECT_FALSE(g.Apply(kFuse));
}

TEST(FuseElementwiseTest, BranchesOfV1ControlFlowStayApart) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), choice = g.Arg(DType::kBool);
  Node* const branch = g.OpNode("Switch", {x, choice}, {{"T", DType::kFloat}});
  const Endpoint live = g.Op("Neg", {x});
  const Endpoint maybe_dead = g.Op("Abs", {g.Op("AddV2", {live, {branch, 1}})});
  g.Result(live);
  g.Result(g.Op("Merge", {maybe_dead, {branch, 0}}, {{"T", DType::kFloat}, {"N", 2}}));
  EXPECT_FALSE(g.Apply(kFuse));
}

}  // namespace
}  // namespace tessera

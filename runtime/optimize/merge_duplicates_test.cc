#include "runtime/optimize/merge_duplicates.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

TEST(MergeDuplicatesTest, EqualSubgraphsBecomeOne) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  Endpoint sides[2];
  for (Endpoint& side : sides) {
    side = g.Op("Neg", {g.Op("AddV2", {x, g.Const(Tensor::Scalar(2.0f))})});
  }
  g.Result(g.Op("Mul", {sides[0], sides[1]}));
  EXPECT_TRUE(g.ExpectSameResults(MergeDuplicatesPass(), {Tensor::Vector<float>({1, 2})}));
  EXPECT_EQ(g.CountOf("AddV2"), 1);
  EXPECT_EQ(g.CountOf("Neg"), 1);
  EXPECT_EQ(g.CountOf("Const"), 1);
}

TEST(MergeDuplicatesTest, OrderOfInputsCountsUnlessTheOpIsCommutative) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat);
  for (const char* op : {"Sub", "Mul"}) {
    g.Result(g.Op(op, {x, y}));
    g.Result(g.Op(op, {y, x}));
  }
  g.ExpectSameResults(MergeDuplicatesPass(), {Tensor::Scalar(5.0f), Tensor::Scalar(3.0f)});
  EXPECT_EQ(g.CountOf("Sub"), 2);
  EXPECT_EQ(g.CountOf("Mul"), g.Only("Mul")->op().is_commutative ? 1 : 2);
}

TEST(MergeDuplicatesTest, AttributesDevicesAndControlInputsTellNodesApart) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  g.Result(g.Op("Sum", {x, g.Const(Tensor::Scalar(0))}, {{"keep_dims", true}}));
  g.Result(g.Op("Sum", {x, g.Const(Tensor::Scalar(0))}, {{"keep_dims", false}}));
  const Endpoint plain = g.Op("Neg", {x});
  const Endpoint elsewhere = g.Op("Neg", {x});
  elsewhere.node->set_device("/cpu:1");
  const Endpoint waiting = g.Op("Neg", {x});
  g.graph.AddControlEdge(g.Arg(DType::kBool).node, waiting.node);
  const Endpoint noted = g.Op("Neg", {x}, {{"_note", "differs, but is not of the op"}});
  for (const Endpoint& e : {plain, elsewhere, waiting, noted}) g.Result(e);
  EXPECT_TRUE(g.Apply(MergeDuplicatesPass()));
  EXPECT_EQ(g.CountOf("Sum"), 2);
  EXPECT_EQ(g.CountOf("Neg"), 3);
}

TEST(MergeDuplicatesTest, NumbersThatDifferInTheLastPlaceStayApart) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  for (const float alpha : {0.1f, std::nextafter(0.1f, 1.0f)}) {
    g.Result(g.Op("LeakyRelu", {x}, {{"alpha", alpha}}));
  }
  EXPECT_FALSE(g.Apply(MergeDuplicatesPass()));
}

TEST(MergeDuplicatesTest, NodesWithStateStayApart) {
  PassTestGraph g;
  const Endpoint shape = g.Const(Tensor::Vector<int32_t>({2}));
  for (int i = 0; i < 2; ++i) {
    g.Result(g.Op("RandomUniform", {shape}, {{"dtype", DType::kFloat}, {"seed", 1}}));
  }
  EXPECT_FALSE(g.Apply(MergeDuplicatesPass()));
  EXPECT_EQ(g.CountOf("RandomUniform"), 2);
}

TEST(MergeDuplicatesTest, StandInsOfUnknownOpsStayApart) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  for (const DType output : {DType::kFloat, DType::kInt32, DType::kInt32}) {
    g.Result(g.Op("_Unsupported", {x},
                  {{"_op", "Foo"},
                   {"_inputs", std::vector<DType>{DType::kFloat}},
                   {"_outputs", std::vector<DType>{output}}}));
  }
  EXPECT_FALSE(g.Apply(MergeDuplicatesPass()));
  EXPECT_EQ(g.CountOf("_Unsupported"), 3);
}

TEST(MergeDuplicatesTest, LargeConstantsAreTheSameIfTheyShareMemory) {
  PassTestGraph g;
  const Tensor large = Ramp({10000}, 1);
  g.Result(g.Const(large));
  g.Result(g.Const(large));
  g.Result(g.Const(large.DeepCopy().value()));
  EXPECT_TRUE(g.ExpectSameResults(MergeDuplicatesPass(), {}));
  EXPECT_EQ(g.CountOf("Const"), 2);
}

TEST(MergeDuplicatesTest, PreservedNodesStay) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint a = g.Op("Neg", {x}), b = g.Op("Neg", {x});
  g.Keep(a.node);
  g.Keep(b.node);
  g.Apply(MergeDuplicatesPass());
  EXPECT_EQ(g.CountOf("Neg"), 2);
}

}  // namespace
}  // namespace tessera

#include "runtime/optimize/remove_no_ops.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TEST(RemoveNoOpsTest, NodesThatChangeNothingVanish) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  const Endpoint identity = g.Op("Identity", {x});
  const Endpoint stop = g.Op("StopGradient", {identity});
  const Endpoint cast = g.Op("Cast", {stop}, {{"SrcT", DType::kFloat}, {"DstT", DType::kFloat}});
  const Endpoint same = g.Op("Transpose", {cast, g.Const(Tensor::Vector<int32_t>({0, 1}))});
  Node* both =
      g.OpNode("IdentityN", {same, x}, {{"T", std::vector<DType>{DType::kFloat, DType::kFloat}}});
  g.Result({both, 0});
  g.Result({both, 1});
  EXPECT_TRUE(g.ExpectSameResults(RemoveNoOpsPass(), {Ramp({2, 2}, 1)}));
  EXPECT_EQ(g.graph.num_nodes(), 3) << "the argument and the results";
}

REGISTER_OP("TestForwards").Input("x: float").Output("y: float").Forwards("x");
REGISTER_OP("TestPrints").Input("x: float").Output("y: float").Forwards("x").WritesOutside();

TEST(RemoveNoOpsTest, ADeclarationMakesANoOp) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  g.Result(g.Op("TestForwards", {x}));
  g.Result(g.Op("TestPrints", {x}));
  EXPECT_TRUE(g.Apply(RemoveNoOpsPass()));
  EXPECT_EQ(g.CountOf("TestForwards"), 0);
  EXPECT_EQ(g.CountOf("TestPrints"), 1);
}

TEST(RemoveNoOpsTest, NodesThatChangeSomethingStay) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  g.Result(g.Op("Cast", {x}, {{"SrcT", DType::kFloat}, {"DstT", DType::kInt32}}));
  g.Result(g.Op("Transpose", {x, g.Const(Tensor::Vector<int32_t>({1, 0}))}));
  g.Result(g.Op("CheckNumerics", {x}, {{"message", "bad"}}));
  EXPECT_FALSE(g.Apply(RemoveNoOpsPass()));
}

TEST(RemoveNoOpsTest, AConstantOfAnotherTypeThanItsAttributeTellsNothing) {
  PassTestGraph g;
  const Endpoint wrong = g.Op("Const", {}, {{"dtype", DType::kInt64}, {"value", Ramp({2}, 1)}});
  g.Result(g.Op("Transpose", {g.Arg(DType::kFloat), wrong}, {{"Tperm", DType::kInt64}}));
  EXPECT_FALSE(g.Apply(RemoveNoOpsPass()));
}

TEST(RemoveNoOpsTest, ReadsOfReferencesStay) {
  PassTestGraph g;
  const Endpoint variable =
      g.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({})}});
  g.Result(g.Op("Identity", {variable}));
  EXPECT_FALSE(g.Apply(RemoveNoOpsPass()));
}

TEST(RemoveNoOpsTest, ControlEdgesAreJoined) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat), y = g.Arg(DType::kFloat);
  const Endpoint identity = g.Op("Identity", {x});
  g.graph.AddControlEdge(y.node, identity.node);
  const Endpoint neg = g.Op("Neg", {identity});
  Node* middle = g.OpNode("NoOp", {});
  g.graph.AddControlEdge(neg.node, middle);
  Node* result = g.Result(g.Const(Tensor::Scalar(1.0f)));
  g.graph.AddControlEdge(middle, result);
  EXPECT_TRUE(g.Apply(RemoveNoOpsPass()));
  EXPECT_THAT(neg.node->control_inputs(), ElementsAre(y.node));
  EXPECT_EQ(neg.node->input(0), x);
  EXPECT_THAT(result->control_inputs(), ElementsAre(neg.node));
}

TEST(RemoveNoOpsTest, EdgesDoNotMultiply) {
  PassTestGraph g;
  Node* barrier = g.OpNode("NoOp", {});
  for (int i = 0; i < 3; ++i) g.graph.AddControlEdge(g.Arg(DType::kFloat).node, barrier);
  for (int i = 0; i < 3; ++i) {
    g.graph.AddControlEdge(barrier, g.Result(g.Const(Tensor::Scalar(i))));
  }
  EXPECT_FALSE(g.Apply(RemoveNoOpsPass()));
}

TEST(RemoveNoOpsTest, TheIdentityThatTellsBranchesApartStays) {
  PassTestGraph g;
  Node* branch = g.OpNode("Switch", {g.Arg(DType::kFloat), g.Arg(DType::kBool)});
  const Endpoint pivot = g.Op("Identity", {{branch, 1}}, {}, "pivot");
  const Endpoint plain = g.Op("Identity", {{branch, 0}}, {}, "plain");
  const Endpoint one = g.Const(Tensor::Scalar(1.0f));
  g.graph.AddControlEdge(pivot.node, one.node);
  Node* merge = g.OpNode("Merge", {plain, one}, {{"N", 2}});
  g.Result({merge, 0});
  EXPECT_TRUE(g.ExpectSameResults(RemoveNoOpsPass(), {Tensor::Scalar(5.0f), Tensor::Scalar(true)}));
  EXPECT_NE(g.graph.FindNode("pivot"), nullptr);
  EXPECT_EQ(g.graph.FindNode("plain"), nullptr);
  EXPECT_EQ(merge->input(0), (Endpoint{branch, 0}));
}

TEST(RemoveNoOpsTest, ControlInputsDoNotReachMerge) {
  PassTestGraph g;
  Node* branch = g.OpNode("Switch", {g.Arg(DType::kFloat), g.Arg(DType::kBool)});
  const Endpoint neg = g.Op("Neg", {{branch, 0}});
  const Endpoint identity = g.Op("Identity", {neg});
  g.graph.AddControlEdge(g.Arg(DType::kFloat).node, identity.node);
  Node* merge = g.OpNode("Merge", {identity, {branch, 1}}, {{"N", 2}});
  g.Result({merge, 0});
  EXPECT_FALSE(g.Apply(RemoveNoOpsPass()));
}

TEST(RemoveNoOpsTest, NodesBetweenDevicesAndPreservedOnesStay) {
  PassTestGraph g;
  const Endpoint x = g.Arg(DType::kFloat);
  x.node->set_device("/cpu:0");
  const Endpoint there = g.Op("Identity", {x});
  there.node->set_device("/cpu:1");
  const Endpoint kept = g.Op("Identity", {x});
  g.Keep(kept.node);
  g.Result(there);
  g.Result(kept);
  EXPECT_FALSE(g.Apply(RemoveNoOpsPass()));
}

}  // namespace
}  // namespace tessera

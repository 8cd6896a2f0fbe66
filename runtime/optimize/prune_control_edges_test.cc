#include "runtime/optimize/prune_control_edges.h"

#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

class PruneControlEdgesTest : public ::testing::Test {
 protected:
  PruneControlEdgesTest() {
    x_ = g_.Arg(DType::kFloat);
    handle_ = g_.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({})}});
    pure_ = g_.Op("Neg", {x_}).node;
    read_ = g_.Op("ReadVariableOp", {handle_}, {{"dtype", DType::kFloat}}).node;
    write_ = g_.OpNode("AssignVariableOp", {handle_, x_}, {{"dtype", DType::kFloat}});
    after_ = g_.Op("Abs", {x_}).node;
    g_.Result({after_, 0});
    g_.Result({read_, 0});
    g_.Result({pure_, 0});
    g_.Keep(write_);
  }
  // Whether an edge between these survives.
  bool Survives(Node* from, Node* to) {
    g_.graph.AddControlEdge(from, to);
    g_.Apply(PruneControlEdgesPass());
    const auto& controls = to->control_inputs();
    const bool survives = std::find(controls.begin(), controls.end(), from) != controls.end();
    g_.graph.RemoveControlEdge(from, to);
    return survives;
  }

  PassTestGraph g_;
  Endpoint x_, handle_;
  Node *pure_, *read_, *write_, *after_;
};

TEST_F(PruneControlEdgesTest, OnlyEffectsAreOrdered) {
  EXPECT_FALSE(Survives(pure_, after_));
  EXPECT_FALSE(Survives(pure_, read_));
  EXPECT_FALSE(Survives(read_, after_));
  EXPECT_TRUE(Survives(write_, after_));
  EXPECT_TRUE(Survives(write_, read_));
}

TEST_F(PruneControlEdgesTest, AReadStaysBeforeAWriteFurtherDown) {
  Node* last = g_.OpNode("AssignVariableOp", {handle_, {after_, 0}}, {{"dtype", DType::kFloat}});
  g_.Keep(last);
  EXPECT_TRUE(Survives(read_, after_));
  EXPECT_FALSE(Survives(pure_, after_));
}

TEST_F(PruneControlEdgesTest, WhatDataOrdersNeedsNoEdge) {
  // A derivative that waits for the gradient that it is multiplied by, before a write.
  Node* const derivative = g_.Op("Square", {x_}).node;
  const Endpoint product =
      g_.Op("Mul", {g_.Op("Neg", {{read_, 0}}), g_.Op("Exp", {{derivative, 0}})});
  g_.Keep(g_.OpNode("AssignVariableOp", {handle_, product}, {{"dtype", DType::kFloat}}));
  EXPECT_FALSE(Survives(read_, derivative));
  // The same derivative in a place that the read does not come before.
  g_.Keep(g_.OpNode("AssignVariableOp", {handle_, {derivative, 0}}, {{"dtype", DType::kFloat}}));
  EXPECT_TRUE(Survives(read_, derivative));
}

TEST_F(PruneControlEdgesTest, AnAssertionStaysBeforeWhatItGuards) {
  const Endpoint is_good = g_.Op("Less", {x_, g_.Op("Neg", {x_})});
  Node* const guard =
      g_.OpNode("Assert", {is_good, x_}, {{"T", std::vector<DType>{DType::kFloat}}});
  g_.Keep(guard);
  Node* const guarded = g_.Op("Square", {x_}).node;
  Node* const result = g_.Op("Exp", {{guarded, 0}}).node;
  g_.Result({result, 0});
  g_.graph.AddControlEdge(guard, result);  // as the return of a function waits for all assertions
  EXPECT_TRUE(Survives(guard, guarded));
  EXPECT_FALSE(Survives(pure_, guarded));
}

TEST_F(PruneControlEdgesTest, AnAssertionThatDataPutsBeforeANodeNeedsNoEdge) {
  const Endpoint is_good = g_.Op("Less", {x_, g_.Op("Neg", {x_})});
  Node* const guard =
      g_.OpNode("Assert", {is_good, x_}, {{"T", std::vector<DType>{DType::kFloat}}});
  const Endpoint guarded = g_.Op("Identity", {x_});
  g_.graph.AddControlEdge(guard, guarded.node);
  Node* const derivative = g_.Op("Square", {guarded}).node;
  g_.Result(g_.Op("Mul", {g_.Op("Neg", {guarded}), g_.Op("Exp", {{derivative, 0}})}));
  EXPECT_FALSE(Survives(guarded.node, derivative));
}

TEST_F(PruneControlEdgesTest, AReadIsOrderedByItsEdgeAlone) {
  Node* const late = g_.Op("ReadVariableOp", {handle_}, {{"dtype", DType::kFloat}}).node;
  g_.Result(g_.Op("Mul", {{late, 0}, x_}));
  EXPECT_TRUE(Survives(write_, late));
}

TEST_F(PruneControlEdgesTest, AReadThroughAReferenceIsOrderedByItsEdgeAlone) {
  const Endpoint variable =
      g_.Op("VariableV2", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({})}});
  const Endpoint written = g_.Op("Assign", {variable, x_}, {{"T", DType::kFloat}});
  const Endpoint late = g_.Op("Neg", {variable}, {{"T", DType::kFloat}});
  g_.Result(g_.Op("Mul", {late, written}, {{"T", DType::kFloat}}));
  EXPECT_TRUE(Survives(written.node, late.node));
}

TEST_F(PruneControlEdgesTest, ManyWritesMayPrecedeOneNode) {
  constexpr int kWrites = 150'000;
  Node* const all = g_.OpNode("NoOp", {});
  for (int i = 0; i < kWrites; ++i) {
    Node* const write = g_.OpNode("AssignVariableOp", {handle_, x_}, {{"dtype", DType::kFloat}});
    g_.graph.AddControlEdge(write, all);
  }
  Node* const last = g_.OpNode("NoOp", {});
  g_.graph.AddControlEdge(all, last);
  g_.Keep(last);
  // A walk over all writes for each of them would take minutes.
  g_.Apply(PruneControlEdgesPass());
  EXPECT_EQ(all->control_inputs().size(), static_cast<size_t>(kWrites));
}

TEST_F(PruneControlEdgesTest, OneOfTwoEdgesByWhichAnAssertionPrecedesANodeStays) {
  const Endpoint is_good = g_.Op("Less", {x_, g_.Op("Neg", {x_})});
  Node* const guard =
      g_.OpNode("Assert", {is_good, x_}, {{"T", std::vector<DType>{DType::kFloat}}});
  Node* const derivative = g_.Op("Square", {x_}).node;
  std::vector<Endpoint> guarded;
  for (int i = 0; i < 2; ++i) {
    guarded.push_back(g_.Op("Identity", {x_}));
    g_.graph.AddControlEdge(guard, guarded[i].node);
    g_.graph.AddControlEdge(guarded[i].node, derivative);
  }
  g_.Result(g_.Op("Mul", {g_.Op("Mul", guarded), g_.Op("Exp", {{derivative, 0}})}));
  g_.Apply(PruneControlEdgesPass());
  EXPECT_EQ(derivative->control_inputs().size(), 1u);
}

TEST_F(PruneControlEdgesTest, EdgesIntoPreservedNodesStay) {
  Node* target = g_.OpNode("NoOp", {});
  g_.Keep(target);
  EXPECT_TRUE(Survives(pure_, target));
}

TEST_F(PruneControlEdgesTest, ControlFlowIsLeftAlone) {
  Node* branch = g_.OpNode("Switch", {x_, g_.Arg(DType::kBool)});
  g_.Result({branch, 0});
  EXPECT_TRUE(Survives(pure_, after_));
}

}  // namespace
}  // namespace tessera

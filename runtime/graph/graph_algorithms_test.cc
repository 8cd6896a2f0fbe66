#include "runtime/graph/graph_algorithms.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Node* AddNeg(Graph& graph, absl::string_view name) {
  return graph.AddNode(name, "Neg", {{"T", DType::kFloat}}).value();
}
Node* AddConst(Graph& graph, absl::string_view name) {
  return graph.AddNode(name, "Const", {{"dtype", DType::kFloat}, {"value", Tensor::Scalar(1.0f)}})
      .value();
}

TEST(GraphAlgorithmsTest, OrderFollowsEdgesAndBreaksTiesById) {
  Graph graph;
  Node* last = AddNeg(graph, "last");
  Node* middle = AddNeg(graph, "middle");
  Node* other = AddConst(graph, "other");
  Node* first = AddConst(graph, "first");
  ASSERT_TRUE(graph.Connect({middle, 0}, last, 0).ok());
  ASSERT_TRUE(graph.Connect({first, 0}, middle, 0).ok());
  graph.AddControlEdge(other, first);
  EXPECT_THAT(TopologicalOrder(graph).value(), ElementsAre(other, first, middle, last));
}

TEST(GraphAlgorithmsTest, NodesOfACycleAreNamed) {
  Graph graph;
  Node* a = AddNeg(graph, "a");
  Node* b = AddNeg(graph, "b");
  Node* tail = AddNeg(graph, "tail");
  ASSERT_TRUE(graph.Connect({a, 0}, b, 0).ok());
  ASSERT_TRUE(graph.Connect({b, 0}, a, 0).ok());
  ASSERT_TRUE(graph.Connect({b, 0}, tail, 0).ok());
  const absl::Status status = CheckAcyclic(graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("of 2 nodes"));
  EXPECT_THAT(status.ToString(), HasSubstr("'a'"));
  EXPECT_THAT(status.ToString(), HasSubstr("'b'"));
}

TEST(GraphAlgorithmsTest, LoopsOfNextIterationAndMergeAreNoCycles) {
  Graph graph;
  Node* start = AddConst(graph, "start");
  Node* merge = graph.AddNode("merge", "Merge", {{"T", DType::kFloat}, {"N", 2}}).value();
  Node* next = graph.AddNode("next", "NextIteration", {{"T", DType::kFloat}}, {{merge, 0}}).value();
  ASSERT_TRUE(graph.Connect({start, 0}, merge, 0).ok());
  ASSERT_TRUE(graph.Connect({next, 0}, merge, 1).ok());
  EXPECT_THAT(TopologicalOrder(graph).value(), ElementsAre(start, merge, next));
  // The back edge is a dependency all the same.
  EXPECT_THAT(Ancestors(graph, {merge}), ElementsAre(start, merge, next));
}

TEST(GraphAlgorithmsTest, RemoveAllButKeepsWhatRootsNeed) {
  Graph graph;
  Node* a = AddConst(graph, "a");
  Node* b = AddConst(graph, "b");
  Node* neg = graph.AddNode("neg", "Neg", {{"T", DType::kFloat}}, {{a, 0}}).value();
  graph.AddNode("unused", "Neg", {{"T", DType::kFloat}}, {{a, 0}}).value();
  graph.AddControlEdge(b, neg);
  EXPECT_EQ(RemoveAllBut(&graph, {neg}), 1);
  EXPECT_THAT(graph.nodes(), ElementsAre(a, b, neg));
  EXPECT_THAT(a->uses(0), ElementsAre(Use{neg, 0}));
}

}  // namespace
}  // namespace tessera

#include "runtime/graph/graph.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

Node* AddConst(Graph& graph, absl::string_view name, Tensor value) {
  return graph.AddNode(name, "Const", {{"dtype", value.dtype()}, {"value", value}}).value();
}
Node* AddFloat(Graph& graph, absl::string_view name) {
  return AddConst(graph, name, Tensor::Scalar(1.0f));
}

TEST(GraphTest, AddNodeCompletesAttributesAndTypes) {
  Graph graph;
  Node* a = AddFloat(graph, "a");
  Node* mul = graph.AddNode("m", "MatMul", {{"T", DType::kFloat}}).value();
  EXPECT_FALSE(mul->attr<bool>("transpose_a").value());
  EXPECT_THAT(mul->input_types(), ElementsAre(DType::kFloat, DType::kFloat));
  EXPECT_EQ(mul->input(0).node, nullptr);
  ASSERT_TRUE(graph.Connect({a, 0}, mul, 0).ok());
  EXPECT_THAT(a->uses(0), ElementsAre(Use{mul, 0}));
}

TEST(GraphTest, AddNodeRefusesBadInput) {
  Graph graph;
  AddFloat(graph, "a");
  EXPECT_EQ(graph.AddNode("a", "NoOp", {}).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(graph.AddNode("b", "NoSuchOp", {}).status().code(), absl::StatusCode::kNotFound);
  for (const char* name : {"", "^a", "a:0", "a b"}) {
    EXPECT_EQ(graph.AddNode(name, "NoOp", {}).status().code(), absl::StatusCode::kInvalidArgument)
        << name;
  }
  const auto missing = graph.AddNode("c", "Identity", {});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(missing.status().ToString(), HasSubstr("node 'c'"));
  EXPECT_EQ(graph.num_nodes(), 1);
}

TEST(GraphTest, FailedAddWithInputsLeavesNothing) {
  Graph graph;
  Node* a = AddFloat(graph, "a");
  Node* i = AddConst(graph, "i", Tensor::Scalar(1));
  const auto added = graph.AddNode("sum", "AddV2", {{"T", DType::kFloat}}, {{a, 0}, {i, 0}});
  EXPECT_EQ(added.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(added.status().ToString(), HasSubstr("must be float, but output 0 of node 'i'"));
  EXPECT_EQ(graph.FindNode("sum"), nullptr);
  EXPECT_TRUE(a->uses(0).empty());
  EXPECT_FALSE(graph.AddNode("s", "AddV2", {{"T", DType::kFloat}}, {{a, 0}}).ok());
}

TEST(GraphTest, ReferenceFeedsPlainInputButNotTheOtherWay) {
  Graph graph;
  Node* variable =
      graph.AddNode("v", "VariableV2", {{"dtype", DType::kFloat}, {"shape", PartialShape({})}})
          .value();
  Node* read = graph.AddNode("read", "Identity", {{"T", DType::kFloat}}).value();
  Node* assign = graph.AddNode("assign", "Assign", {{"T", DType::kFloat}}).value();
  EXPECT_TRUE(graph.Connect({variable, 0}, read, 0).ok());
  EXPECT_TRUE(graph.Connect({variable, 0}, assign, 0).ok());
  EXPECT_FALSE(graph.Connect({read, 0}, assign, 0).ok());
}

TEST(GraphTest, ReconnectingMovesTheUse) {
  Graph graph;
  Node* a = AddFloat(graph, "a");
  Node* b = AddFloat(graph, "b");
  Node* neg = graph.AddNode("n", "Neg", {{"T", DType::kFloat}}, {{a, 0}}).value();
  ASSERT_TRUE(graph.Connect({b, 0}, neg, 0).ok());
  EXPECT_TRUE(a->uses(0).empty());
  EXPECT_THAT(b->uses(0), ElementsAre(Use{neg, 0}));
  EXPECT_FALSE(graph.Connect({b, 1}, neg, 0).ok());
  EXPECT_FALSE(graph.Connect({b, 0}, neg, 1).ok());
}

TEST(GraphTest, RemoveUnconnectsBothSides) {
  Graph graph;
  Node* a = AddFloat(graph, "a");
  Node* neg = graph.AddNode("n", "Neg", {{"T", DType::kFloat}}, {{a, 0}}).value();
  Node* abs = graph.AddNode("abs", "Abs", {{"T", DType::kFloat}}, {{neg, 0}}).value();
  graph.AddControlEdge(neg, abs);
  const int id = neg->id();
  graph.Remove(neg);
  EXPECT_TRUE(a->uses(0).empty());
  EXPECT_EQ(abs->input(0).node, nullptr);
  EXPECT_TRUE(abs->control_inputs().empty());
  EXPECT_EQ(graph.node(id), nullptr);
  EXPECT_THAT(graph.nodes(), ElementsAre(a, abs));
  EXPECT_NE(AddFloat(graph, "n")->id(), id);
}

TEST(GraphTest, ReplaceUsesIsAllOrNothing) {
  Graph graph;
  Node* variable =
      graph.AddNode("v", "VariableV2", {{"dtype", DType::kFloat}, {"shape", PartialShape({})}})
          .value();
  Node* plain = AddFloat(graph, "plain");
  Node* read = graph.AddNode("read", "Identity", {{"T", DType::kFloat}}, {{variable, 0}}).value();
  Node* assign =
      graph.AddNode("assign", "Assign", {{"T", DType::kFloat}}, {{variable, 0}, {plain, 0}})
          .value();
  EXPECT_FALSE(graph.ReplaceUses({variable, 0}, {plain, 0}).ok());
  EXPECT_EQ(read->input(0).node, variable);
  EXPECT_EQ(assign->input(0).node, variable);
  ASSERT_TRUE(graph.ReplaceUses({plain, 0}, {read, 0}).ok());
  EXPECT_EQ(assign->input(1).node, read);
}

TEST(GraphTest, ControlEdgesAreUniqueAndMove) {
  Graph graph;
  Node* a = AddFloat(graph, "a");
  Node* b = AddFloat(graph, "b");
  Node* c = AddFloat(graph, "c");
  graph.AddControlEdge(a, c);
  graph.AddControlEdge(a, c);
  EXPECT_THAT(c->control_inputs(), ElementsAre(a));
  graph.AddControlEdge(a, b);
  graph.MoveControlOutputs(a, b);  // a -> b would become a loop: it is dropped
  EXPECT_THAT(c->control_inputs(), ElementsAre(b));
  EXPECT_TRUE(b->control_inputs().empty());
  EXPECT_TRUE(a->control_outputs().empty());
  graph.RemoveControlEdge(b, c);
  EXPECT_TRUE(c->control_inputs().empty());
}

TEST(GraphTest, TheUsersOfOneOutputAreMovedInTurn) {
  constexpr int kUsers = 200'000;
  constexpr int kRounds = 6;
  Graph graph;
  Node* from = AddFloat(graph, "a");
  Node* to = AddFloat(graph, "b");
  std::vector<Node*> users;
  for (int i = 0; i < kUsers; ++i) {
    users.push_back(
        graph.AddNode(absl::StrCat("n", i), "AddV2", {{"T", DType::kFloat}}, {{from, 0}, {to, 0}})
            .value());
  }
  // A search through all users for each of them would take minutes.
  for (int round = 0; round < kRounds; ++round) {
    for (Node* user : users) {
      ASSERT_TRUE(graph.Connect({to, 0}, user, 0).ok());
      ASSERT_TRUE(graph.Connect({from, 0}, user, 1).ok());
    }
    std::swap(from, to);
    std::reverse(users.begin(), users.end());
  }
  EXPECT_EQ(from->uses(0).size(), static_cast<size_t>(kUsers));
  for (Node* user : users) graph.Remove(user);
  EXPECT_TRUE(from->uses(0).empty());
  EXPECT_TRUE(to->uses(0).empty());
}

TEST(GraphTest, UsesAreErasedInAnyOrder) {
  constexpr int kUsers = 101;
  Graph graph;
  Node* a = AddFloat(graph, "a");
  std::vector<Node*> users;
  for (int i = 0; i < kUsers; ++i) {
    users.push_back(
        graph.AddNode(absl::StrCat("n", i), "Neg", {{"T", DType::kFloat}}, {{a, 0}}).value());
  }
  for (int i = 0; i < kUsers; ++i) {
    graph.Remove(users[i * 37 % kUsers]);
    ASSERT_EQ(a->uses(0).size(), static_cast<size_t>(kUsers - 1 - i));
    for (const Use& use : a->uses(0)) ASSERT_EQ(use.node->input(0).node, a);
  }
}

TEST(GraphTest, CloneIsIndependentAndKeepsIds) {
  Graph graph;
  Node* gone = AddFloat(graph, "gone");
  Node* a = AddFloat(graph, "a");
  Node* neg = graph.AddNode("n", "Neg", {{"T", DType::kFloat}}, {{a, 0}}, "/cpu:0").value();
  graph.AddControlEdge(a, neg);
  graph.Remove(gone);
  const std::unique_ptr<Graph> copy = graph.Clone();
  graph.Remove(neg);
  Node* copied = copy->FindNode("n");
  ASSERT_NE(copied, nullptr);
  EXPECT_EQ(copied->device(), "/cpu:0");
  EXPECT_EQ(copied->input(0).node, copy->FindNode("a"));
  EXPECT_NE(copied->input(0).node, a);
  EXPECT_EQ(copy->FindNode("a")->id(), a->id());
  EXPECT_THAT(copied->control_inputs(), ElementsAre(copy->FindNode("a")));
  EXPECT_EQ(copy->num_nodes(), 2);
}

TEST(GraphTest, FindsEndpointsByName) {
  Graph graph;
  Node* a = AddFloat(graph, "scope/a");
  EXPECT_EQ(graph.FindEndpoint("scope/a").value(), (Endpoint{a, 0}));
  EXPECT_EQ(graph.FindEndpoint("scope/a:0").value(), (Endpoint{a, 0}));
  EXPECT_EQ(graph.FindEndpoint("b").status().code(), absl::StatusCode::kNotFound);
  for (const char* name : {"scope/a:1", "scope/a:", "scope/a:x", "scope/a:-1", "^scope/a", ":0", "",
                           "scope/a:99999999999"}) {
    EXPECT_EQ(graph.FindEndpoint(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(TensorName({a, 0}), "scope/a");
  EXPECT_EQ(TensorName({a, 3}), "scope/a:3");
}

TEST(GraphTest, UniqueNameIsFree) {
  Graph graph;
  EXPECT_EQ(graph.UniqueName("a"), "a");
  AddFloat(graph, "a");
  AddFloat(graph, "a_1");
  EXPECT_EQ(graph.UniqueName("a"), "a_2");
  EXPECT_EQ(graph.UniqueName("a"), "a_3") << "a name once given out is not given again";
}

TEST(GraphTest, EmptyListsGetTheDeclaredType) {
  Graph graph;
  Node* written =
      graph.AddNode("a", "Squeeze", {{"T", DType::kFloat}, {"squeeze_dims", EmptyList{}}}).value();
  Node* defaulted = graph.AddNode("b", "Squeeze", {{"T", DType::kFloat}}).value();
  EXPECT_TRUE(written->attrs() == defaulted->attrs());
}

}  // namespace
}  // namespace tessera

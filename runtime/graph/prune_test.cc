#include "runtime/graph/prune.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// x (placeholder) -> neg -> abs; step waits for x; split gives two outputs of x.
class PruneTest : public ::testing::Test {
 protected:
  PruneTest() {
    x_ = graph_.AddNode("x", "Placeholder", {{"dtype", DType::kFloat}}).value();
    neg_ = Add("neg", "Neg", {{"T", DType::kFloat}}, {{x_, 0}});
    abs_ = Add("abs", "Abs", {{"T", DType::kFloat}}, {{neg_, 0}});
    axis_ = Add("axis", "Const", {{"dtype", DType::kInt32}, {"value", Tensor::Scalar(0)}}, {});
    split_ =
        Add("split", "Split", {{"T", DType::kFloat}, {"num_split", 2}}, {{axis_, 0}, {neg_, 0}});
    step_ = Add("step", "NoOp", {}, {});
    graph_.AddControlEdge(x_, step_);
  }
  Node* Add(absl::string_view name, absl::string_view op, AttrMap attrs,
            const std::vector<Endpoint>& inputs) {
    return graph_.AddNode(name, op, std::move(attrs), inputs).value();
  }
  std::vector<std::string> NamesOf(const PrunedGraph& pruned) {
    std::vector<std::string> names;
    for (const Node* node : pruned.graph->nodes()) names.push_back(node->name());
    return names;
  }

  Graph graph_;
  Node *x_, *neg_, *abs_, *axis_, *split_, *step_;
};

TEST_F(PruneTest, KeepsWhatFetchesNeed) {
  const PrunedGraph pruned = Prune(graph_, {.feeds = {"x"}, .fetches = {"abs:0"}}).value();
  EXPECT_THAT(NamesOf(pruned), ElementsAre("neg", "abs", "_arg_x_0", "_retval_abs_0"));
  EXPECT_TRUE(pruned.args[0]->IsOp("_Arg"));
  EXPECT_EQ(pruned.graph->FindNode("neg")->input(0).node, pruned.args[0]);
  EXPECT_EQ(pruned.results[0]->input(0).node, pruned.graph->FindNode("abs"));
}

TEST_F(PruneTest, FeedingAnInnerTensorCutsWhatIsAbove) {
  const PrunedGraph pruned = Prune(graph_, {.feeds = {"neg:0"}, .fetches = {"abs"}}).value();
  EXPECT_THAT(NamesOf(pruned), ElementsAre("abs", "_arg_neg_0", "_retval_abs_0"));
}

TEST_F(PruneTest, OtherOutputsOfAFedNodeStillRun) {
  const PrunedGraph pruned =
      Prune(graph_, {.feeds = {"x", "split:1"}, .fetches = {"split:0", "split:1"}}).value();
  EXPECT_EQ(pruned.results[0]->input(0).node, pruned.graph->FindNode("split"));
  EXPECT_EQ(pruned.results[1]->input(0).node, pruned.args[1]);
}

TEST_F(PruneTest, WhoWaitsForAFedPlaceholderWaitsForTheFeed) {
  const PrunedGraph pruned = Prune(graph_, {.feeds = {"x"}, .targets = {"step"}}).value();
  EXPECT_THAT(pruned.targets[0]->control_inputs(), ElementsAre(pruned.args[0]));
  EXPECT_EQ(pruned.graph->FindNode("x"), nullptr);
}

TEST_F(PruneTest, UnneededFeedsAndRepeatedFetchesKeepTheirPlaces) {
  const PrunedGraph pruned =
      Prune(graph_, {.feeds = {"x", "axis"}, .fetches = {"x", "neg", "neg"}}).value();
  ASSERT_EQ(pruned.args.size(), 2u);
  EXPECT_EQ(pruned.args[1]->attr<int64_t>("index").value(), 1);
  EXPECT_EQ(pruned.args[1]->output_type(0), DType::kInt32);
  ASSERT_EQ(pruned.results.size(), 3u);
  EXPECT_EQ(pruned.results[0]->input(0).node, pruned.args[0]);
  EXPECT_EQ(pruned.results[2]->attr<int64_t>("index").value(), 2);
}

TEST_F(PruneTest, FetchingAReferenceGivesItsValue) {
  Add("v", "VariableV2", {{"dtype", DType::kFloat}, {"shape", PartialShape({})}}, {});
  const PrunedGraph pruned = Prune(graph_, {.fetches = {"v"}}).value();
  EXPECT_EQ(pruned.results[0]->input_type(0), DType::kFloat);
}

TEST_F(PruneTest, BackEdgesOfLoopsAreCopied) {
  Node* merge = graph_.AddNode("merge", "Merge", {{"T", DType::kFloat}, {"N", 2}}).value();
  Node* next = Add("next", "NextIteration", {{"T", DType::kFloat}}, {{merge, 0}});
  ASSERT_TRUE(graph_.Connect({x_, 0}, merge, 0).ok());
  ASSERT_TRUE(graph_.Connect({next, 0}, merge, 1).ok());
  const PrunedGraph pruned = Prune(graph_, {.feeds = {"x"}, .fetches = {"merge"}}).value();
  EXPECT_EQ(pruned.graph->FindNode("merge")->input(1).node, pruned.graph->FindNode("next"));
}

TEST_F(PruneTest, NamesWhatIsWrong) {
  const struct {
    RunSignature signature;
    absl::StatusCode code;
    const char* message;
  } kCases[] = {
      {{.feeds = {"no"}}, absl::StatusCode::kNotFound, "feed tensor 'no'"},
      {{.fetches = {"no:0"}}, absl::StatusCode::kNotFound, "fetch tensor 'no:0'"},
      {{.targets = {"no"}}, absl::StatusCode::kNotFound, "target 'no'"},
      {{.fetches = {"x:1"}}, absl::StatusCode::kInvalidArgument, "has 1 outputs"},
      {{.feeds = {"x", "x:0"}}, absl::StatusCode::kInvalidArgument, "fed twice"},
  };
  for (const auto& c : kCases) {
    const absl::Status status = Prune(graph_, c.signature).status();
    EXPECT_EQ(status.code(), c.code) << c.message;
    EXPECT_THAT(status.ToString(), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace tessera

#include "runtime/training/gradients/gradients.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/graph/graph_export.h"
#include "runtime/session/session.h"
#include "runtime/training/gradients/graph_builder.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GradientsTest : public ::testing::Test {
 protected:
  Expr Input(std::initializer_list<float> values) {
    return build_.Constant(Tensor::Vector<float>(values));
  }

  // The values of the gradient of the sum of `y` with respect to `x`.
  std::vector<float> GradientOf(const Expr& y, const Expr& x, const GradientOptions& options = {}) {
    EXPECT_TRUE(build_.status().ok()) << build_.status();
    const auto gradients = AddGradients(&graph_, {y.endpoint()}, {x.endpoint()}, {}, options);
    EXPECT_TRUE(gradients.ok()) << gradients.status();
    if (!gradients.ok() || gradients->front().is_none()) return {};
    return Fetch(AddDenseGradient(&graph_, gradients->front()).value());
  }

  std::vector<float> Fetch(const Endpoint& endpoint) {
    tensorflow::GraphDef graph_def;
    ExportGraph(graph_, &graph_def);
    const std::unique_ptr<Session> session = Session::Create({}).value();
    EXPECT_TRUE(session->Extend(graph_def).ok());
    std::vector<Tensor> outputs;
    const absl::Status status = session->Run({}, {TensorName(endpoint)}, {}, &outputs);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return {};
    const auto values = outputs[0].flat<float>();
    return std::vector<float>(values.begin(), values.end());
  }

  int CountOps(absl::string_view op) const {
    int count = 0;
    for (const Node* node : graph_.nodes()) count += node->IsOp(op);
    return count;
  }

  Graph graph_;
  GraphBuilder build_{&graph_, "forward"};
};

TEST_F(GradientsTest, GradientsOfAllUsesAddUp) {
  const Expr x = Input({1, 2, 3});
  EXPECT_THAT(GradientOf(x * x + x, x), ElementsAre(3, 5, 7));
  EXPECT_EQ(CountOps("AddN"), 1);
}

// One branch of a condition reads a variable whose handle goes through a Switch.
TEST_F(GradientsTest, HandlesOfVariablesGoThroughConditions) {
  const Expr variable = build_.Output(
      build_.AddNode("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({2})}}));
  const Node* const assign = build_.AddNode("AssignVariableOp", {variable, Input({3, 4})});
  for (const bool taken : {false, true}) {
    const Expr predicate = build_.Constant(Tensor::Scalar(taken));
    const std::vector<Expr> handles = CallAll("Switch", {variable, predicate});
    const std::vector<Expr> others = CallAll("Switch", {Input({5, 6}), predicate});
    const Expr read = Call("ReadVariableOp", {handles[1]}, {{"dtype", DType::kFloat}});
    const Expr y = CallAll("Merge", {others[0], read * read})[0];
    ASSERT_TRUE(build_.status().ok()) << build_.status();
    const auto gradients = AddGradients(&graph_, {y.endpoint()}, {variable.endpoint()});
    ASSERT_TRUE(gradients.ok()) << gradients.status();

    tensorflow::GraphDef graph_def;
    ExportGraph(graph_, &graph_def);
    const std::unique_ptr<Session> session = Session::Create({}).value();
    ASSERT_TRUE(session->Extend(graph_def).ok());
    ASSERT_TRUE(session->Run({}, {}, {assign->name()}, nullptr).ok());
    std::vector<Tensor> outputs;
    const absl::Status status =
        session->Run({}, {TensorName(gradients->front().values)}, {}, &outputs);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(outputs[0].flat<float>(), taken ? ElementsAre(6, 8) : ElementsAre(0, 0));
  }
}

TEST_F(GradientsTest, RowsThatAColumnOfIndicesPicksStaySlices) {
  const Expr x = Reshape(Input({1, 2, 3, 4, 5, 6}), build_.Ints({3, 2}));
  const Expr column = build_.Constant(Tensor::Vector<int32_t>({2, 0, 2}));
  const Expr picked = Call("GatherNd", {x, Reshape(column, build_.Ints({3, 1}))});
  const auto slices = AddGradients(&graph_, {picked.endpoint()}, {x.endpoint()});
  ASSERT_TRUE(slices.ok()) << slices.status();
  ASSERT_TRUE(slices->front().is_sparse());
  EXPECT_THAT(GradientOf(picked, x), ElementsAre(1, 1, 0, 0, 2, 2));
  const Expr elements = Call("GatherNd", {x, build_.Ints({1, 1})});
  const auto dense = AddGradients(&graph_, {elements.endpoint()}, {x.endpoint()});
  ASSERT_TRUE(dense.ok()) << dense.status();
  EXPECT_FALSE(dense->front().is_sparse());
}

// TensorFlow declares TopK and cannot run it any more. Of equal elements the first ones are picked.
TEST_F(GradientsTest, TopKGivesItsGradientToWhatItPicked) {
  const Expr x = Reshape(Input({2, 7, 7, 2, 7, 1, 1, 1, 1, 1}), build_.Ints({2, 5}));
  const Expr weights = Reshape(Input({10, 20, 30, 40}), build_.Ints({2, 2}));
  for (const bool sorted : {true, false}) {
    const std::vector<Expr> picked =
        CallAll("TopK", {{x}}, {{"k", int64_t{2}}, {"sorted", sorted}});
    ASSERT_EQ(picked.size(), 2u);
    EXPECT_THAT(GradientOf(picked[0] * weights, x), ElementsAre(0, 10, 20, 0, 0, 30, 40, 0, 0, 0));
  }
}

TEST_F(GradientsTest, XlasEinsumHasTheGradientOfEinsum) {
  const Expr x = Reshape(Input({1, 2, 3, 4, 5, 6}), build_.Ints({2, 3}));
  const Expr y = Reshape(Input({1, -1, 2, 0, 3, 5}), build_.Ints({3, 2}));
  const Expr product = Call("XlaEinsum", {x, y}, {{"equation", "ij,jk->ki"}});
  EXPECT_THAT(GradientOf(product, x), ElementsAre(0, 2, 8, 0, 2, 8));
  EXPECT_THAT(GradientOf(product, y), ElementsAre(5, 5, 7, 7, 9, 9));
}

TEST_F(GradientsTest, GradientOfATensorWithRespectToItselfIsOnes) {
  const Expr x = Input({1, 2});
  EXPECT_THAT(GradientOf(x, x), ElementsAre(1, 1));
}

TEST_F(GradientsTest, IncomingGradientsAreTaken) {
  const Expr x = Input({1, 2}), dy = Input({10, 100});
  const Expr y = x * x;
  const auto gradients =
      AddGradients(&graph_, {y.endpoint()}, {x.endpoint()}, {dy.endpoint()}).value();
  EXPECT_THAT(Fetch(gradients[0].values), ElementsAre(20, 400));
}

TEST_F(GradientsTest, TensorsInBetweenHaveGradientsToo) {
  const Expr x = Input({1, 2});
  const Expr middle = x * x;
  const Expr y = middle * middle;
  const auto gradients =
      AddGradients(&graph_, {y.endpoint()}, {middle.endpoint(), x.endpoint()}).value();
  EXPECT_THAT(Fetch(gradients[0].values), ElementsAre(2, 8));
  EXPECT_THAT(Fetch(gradients[1].values), ElementsAre(4, 32));
}

TEST_F(GradientsTest, NothingFlowsThroughStopGradients) {
  const Expr x = Input({1, 2});
  const Expr stopped = x * x;
  EXPECT_THAT(GradientOf(stopped * x, x, {.stop_gradients = {stopped.endpoint()}}),
              ElementsAre(1, 4));
}

TEST_F(GradientsTest, NothingFlowsThroughTheOpStopGradient) {
  const Expr x = Input({1, 2});
  EXPECT_THAT(GradientOf(Call("StopGradient", {x}) * x, x), ElementsAre(1, 2));
}

TEST_F(GradientsTest, UnconnectedXHasNoGradientOrZeros) {
  const Expr x = Input({1, 2}), other = Input({3});
  EXPECT_THAT(GradientOf(other * other, x), ElementsAre());
  EXPECT_THAT(GradientOf(other * other, x, {.unconnected = UnconnectedGradients::kZero}),
              ElementsAre(0, 0));
}

TEST_F(GradientsTest, LookedUpRowsAreSparseAndStaySoInSums) {
  const Expr table = build_.Constant(Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Expr same = Call("Identity", {table});
  const Expr first = Call("GatherV2", {same, build_.Ints({2, 0}), build_.Int(0)});
  const Expr second = Call("GatherV2", {same, build_.Ints({2}), build_.Int(0)});
  const auto gradients =
      AddGradients(&graph_, {first.endpoint(), second.endpoint()}, {table.endpoint()}).value();
  ASSERT_TRUE(gradients[0].is_sparse());
  EXPECT_EQ(Fetch(gradients[0].values).size(), 6) << "three slices of two numbers";
  EXPECT_THAT(Fetch(AddDenseGradient(&graph_, gradients[0]).value()),
              ElementsAre(1, 1, 0, 0, 2, 2));
}

TEST_F(GradientsTest, RowsThatAreSummedBySegmentsAreSparseIfTheOpSaysSo) {
  for (const char* op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    for (const bool is_sparse : {false, true}) {
      const Expr table = build_.Constant(Tensor::Of<float>({4, 1}, {1, 2, 3, 4}));
      const Expr y = Call(op, {table, build_.Ints({2, 0, 2, 1}), build_.Ints({0, 0, 0, 1})},
                          {{"sparse_gradient", is_sparse}});
      const auto gradients =
          AddGradients(&graph_, {(y * y).endpoint()}, {table.endpoint()}).value();
      ASSERT_EQ(gradients[0].is_sparse(), is_sparse) << op;
      if (is_sparse) {
        EXPECT_EQ(Fetch(gradients[0].values).size(), 3) << "each row once";
      }
      // The sum of rows 2, 0 and 2 is 7, divided by 1, 3 or the root of 3.
      const float share = std::string(op) == "SparseSegmentSum" ? 14 : 14.0f / 3;
      const std::vector<float> dense = Fetch(AddDenseGradient(&graph_, gradients[0]).value());
      ASSERT_EQ(dense.size(), 4);
      const float mean = std::string(op) == "SparseSegmentMean" ? share / 3 : share;
      EXPECT_NEAR(dense[0], mean, 1e-5) << op;
      EXPECT_NEAR(dense[1], 4, 1e-5) << op;
      EXPECT_NEAR(dense[2], 2 * mean, 1e-5) << op;
      EXPECT_EQ(dense[3], 0) << op;
    }
  }
}

TEST_F(GradientsTest, ChosenNodesAreComputedAgain) {
  const Expr x = Input({0.5f, 1});
  const Expr y = Call("Exp", {Call("Sin", {x * x})});
  const std::vector<float> kept = GradientOf(y, x);
  const int before = CountOps("Sin");
  const std::vector<float> again = GradientOf(
      y, x, {.recompute = [](const Node& node) { return node.IsOp("Exp") || node.IsOp("Sin"); }});
  EXPECT_EQ(again, kept);
  EXPECT_EQ(CountOps("Sin"), before + 1);
}

TEST_F(GradientsTest, EachCallHasItsOwnNames) {
  const Expr x = Input({1});
  GradientOf(x * x, x);
  GradientOf(x * x, x);
  int second = 0;
  for (const Node* node : graph_.nodes()) second += node->name().rfind("gradients_1/", 0) == 0;
  EXPECT_GT(second, 0);
}

TEST_F(GradientsTest, OpWithoutGradientIsAnErrorThatNamesTheNode) {
  const Expr x = Input({1, 2});
  const Expr y = Call("Bitcast", {x}, {{"type", DType::kFloat}});
  const auto gradients = AddGradients(&graph_, {y.endpoint()}, {x.endpoint()});
  EXPECT_EQ(gradients.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(gradients.status().message()), HasSubstr("'forward/Bitcast'"));
}

TEST_F(GradientsTest, LoopsOfFunctionsThatAreNotThereAreErrors) {
  const Expr x = Input({1, 2});
  const Expr y = Call("While", {x},
                      {{"T", std::vector<DType>{DType::kFloat}},
                       {"cond", FunctionRef{.name = "gone"}},
                       {"body", FunctionRef{.name = "gone"}}});
  const auto gradients = AddGradients(&graph_, {y.endpoint()}, {x.endpoint()});
  EXPECT_EQ(gradients.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(gradients.status().message()), HasSubstr("'gone'"));
}

TEST_F(GradientsTest, OpWithoutGradientElsewhereIsNone) {
  const Expr x = Input({1, 2});
  static_cast<void>(Call("Bitcast", {x}, {{"type", DType::kFloat}}));
  EXPECT_THAT(GradientOf(2.0 * x, x), ElementsAre(2, 2));
}

TEST_F(GradientsTest, PreventGradientSaysWhy) {
  const Expr x = Input({1, 2});
  const Expr y = Call("PreventGradient", {x}, {{"message", std::string("not of this")}});
  const auto gradients = AddGradients(&graph_, {y.endpoint()}, {x.endpoint()});
  EXPECT_EQ(gradients.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(gradients.status().message()), HasSubstr("not of this"));
}

TEST_F(GradientsTest, IntegersAndStrangersAreRefused) {
  const Expr x = Input({1}), i = build_.Ints({1});
  EXPECT_EQ(AddGradients(&graph_, {i.endpoint()}, {x.endpoint()}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AddGradients(&graph_, {x.endpoint()}, {Endpoint{x.endpoint().node, 7}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(AddGradients(&graph_, {x.endpoint()}, {x.endpoint()}, {i.endpoint()}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(GradientsTest, KnownShapesNeedNoReductions) {
  const Expr x = build_.Constant(Tensor::Of<float>({2, 2}, {1, 2, 3, 4})), bias = Input({1, 1});
  EXPECT_THAT(GradientOf(x + bias, bias), ElementsAre(2, 2));
  EXPECT_EQ(CountOps("BroadcastGradientArgs"), 0);
}

}  // namespace
}  // namespace tessera

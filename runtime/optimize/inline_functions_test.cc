#include "runtime/optimize/inline_functions.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/optimize/testing/pass_test_graph.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

const InlineFunctionsPass kInline;

// twice(x) = x + x; four_times calls it twice; count_up(v, by) adds to a variable and returns
// what it holds; bump calls count_up for its effect only.
constexpr char kFunctions[] = R"(
  def twice(x: float) -> (y: float):
    sum = AddV2(x, x) {T: float}
  return (y = sum:z:0)

  def four_times(x: float) -> (y: float):
    first = PartitionedCall(x) {Tin: [float], Tout: [float], f: @twice}
    second = twice(first:output:0)
  return (y = second:y:0)

  stateful def count_up(v: resource, by: float) -> (now: float, given: float):
    add = AssignAddVariableOp(v, by) {dtype: float}
    read = ReadVariableOp(v, ^add) {dtype: float}
  return (now = read:value:0, given = by, ^add)

  stateful def bump(v: resource, by: float):
    call = StatefulPartitionedCall(v, by) {Tin: [resource, float], Tout: [float, float],
        f: @count_up}
  return (^call)

  stateful def peek(v: resource) -> (now: float):
    read = ReadVariableOp(v) {dtype: float}
  return (now = read:value:0)

  def apart(x: float) -> (y: float) {_noinline: true}:
    call = twice(x)
  return (y = call:y:0)

  def endless(x: float) -> (y: float):
    call = endless(x)
  return (y = call:y:0)

  def summarise(x: float) -> (s: string):
    summary = TensorSummary(x) {T: float}
  return (s = summary:summary:0)

  def summarise_within(x: float) -> (s: string):
    call = summarise(x)
  return (s = call:s:0)

  stateful def own_variable() -> (v: resource):
    v = VarHandleOp() {dtype: float, shape: <>}
  return (v = v:resource:0)
)";

class InlineFunctionsTest : public ::testing::Test {
 protected:
  InlineFunctionsTest() : g_(kFunctions) {}

  Node* Call(const std::string& function, const std::vector<Endpoint>& inputs, DType result,
             int num_results = 1) {
    std::vector<DType> types;
    for (const Endpoint& input : inputs) types.push_back(input.node->output_type(input.index));
    return g_.OpNode("StatefulPartitionedCall", inputs,
                     {{"Tin", std::move(types)},
                      {"Tout", std::vector<DType>(num_results, result)},
                      {"f", FunctionRef{function, {}}}},
                     "call_" + function);
  }
  // A variable that holds 10.
  Endpoint AddVariable() {
    auto variable = MakeRefCounted<Variable>(DType::kFloat, PartialShape({}));
    variable->Assign(Tensor::Scalar(10.0f));
    EXPECT_TRUE(g_.resources.Create("", Variable::kTypeName, "v", variable).ok());
    return g_.Op("VarHandleOp", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape({})}}, "v");
  }
  Endpoint Read(const Endpoint& handle) {
    return g_.Op("ReadVariableOp", {handle}, {{"dtype", DType::kFloat}});
  }
  float RunForOne(const std::vector<Tensor>& args) {
    const auto results = g_.Run(args);
    EXPECT_TRUE(results.ok()) << results.status();
    return results.ok() ? (*results)[0].scalar<float>() : 0;
  }

  PassTestGraph g_;
};

TEST_F(InlineFunctionsTest, NestedCallsBecomeNodes) {
  g_.Result({Call("four_times", {g_.Arg(DType::kFloat)}, DType::kFloat), 0});
  EXPECT_TRUE(g_.ExpectSameResults(kInline, {Tensor::Scalar(3.0f)}));
  EXPECT_EQ(g_.CountOf("AddV2"), 2);
  EXPECT_EQ(g_.graph.num_nodes(), 4);
  EXPECT_NE(g_.graph.FindNode("call_four_times/first/sum"), nullptr);
}

TEST_F(InlineFunctionsTest, ResultsWaitForSideEffects) {
  const Endpoint v = AddVariable();
  Node* call = Call("count_up", {v, g_.Arg(DType::kFloat)}, DType::kFloat, 2);
  // Not after the call by a control edge, but by what the call gives.
  const Endpoint after = Read(v);
  const Endpoint given = g_.Op("Identity", {{call, 1}});
  g_.graph.AddControlEdge(given.node, after.node);
  g_.Result(after);
  EXPECT_EQ(RunForOne({Tensor::Scalar(1.0f)}), 11);
  EXPECT_TRUE(g_.Apply(kInline));
  EXPECT_EQ(g_.CountOf("StatefulPartitionedCall"), 0);
  EXPECT_EQ(RunForOne({Tensor::Scalar(1.0f)}), 12) << "the addition ran, and before the read";
}

TEST_F(InlineFunctionsTest, ReadsWaitForTheCallsControlInputs) {
  const Endpoint v = AddVariable();
  Node* assign =
      g_.OpNode("AssignVariableOp", {v, g_.Arg(DType::kFloat)}, {{"dtype", DType::kFloat}});
  Node* call = Call("peek", {v}, DType::kFloat);
  g_.graph.AddControlEdge(assign, call);
  g_.Result({call, 0});
  EXPECT_TRUE(g_.ExpectSameResults(kInline, {Tensor::Scalar(5.0f)}));
  EXPECT_EQ(RunForOne({Tensor::Scalar(7.0f)}), 7);
  EXPECT_THAT(g_.graph.FindNode("call_peek/read")->control_inputs(), ElementsAre(assign));
  EXPECT_EQ(g_.CountOf("Identity"), 0) << "reading has no side effect to wait for";
}

TEST_F(InlineFunctionsTest, ResultsWaitForTheCallsControlInputs) {
  const Endpoint v = AddVariable();
  Node* assign =
      g_.OpNode("AssignVariableOp", {v, g_.Arg(DType::kFloat)}, {{"dtype", DType::kFloat}});
  Node* call = Call("twice", {g_.Const(Tensor::Scalar(1.0f))}, DType::kFloat);
  g_.graph.AddControlEdge(assign, call);
  // After the call by what it gives alone.
  const Endpoint after = Read(v);
  g_.graph.AddControlEdge(g_.Op("Identity", {{call, 0}}).node, after.node);
  g_.Result(after);
  EXPECT_TRUE(g_.ExpectSameResults(kInline, {Tensor::Scalar(6.0f)}));
  EXPECT_EQ(RunForOne({Tensor::Scalar(8.0f)}), 8);
}

TEST_F(InlineFunctionsTest, KeptCallsBecomeNoOpsOfTheirName) {
  const Endpoint v = AddVariable();
  Node* call = Call("bump", {v, g_.Arg(DType::kFloat)}, DType::kFloat, 0);
  g_.Keep(call);
  EXPECT_TRUE(g_.Apply(kInline));
  Node* done = g_.graph.FindNode("call_bump");
  ASSERT_NE(done, nullptr);
  EXPECT_TRUE(done->IsOp("NoOp"));
  EXPECT_TRUE(g_.item.IsPreserved(done));
  EXPECT_EQ(g_.CountOf("AssignAddVariableOp"), 1);
  g_.Result(Read(v));
  g_.graph.AddControlEdge(done, g_.Only("ReadVariableOp"));
  EXPECT_EQ(RunForOne({Tensor::Scalar(4.0f)}), 14);
}

TEST_F(InlineFunctionsTest, WhoWaitsForACallWaitsForWhatItWaitedFor) {
  const Endpoint v = AddVariable();
  Node* assign =
      g_.OpNode("AssignVariableOp", {v, g_.Arg(DType::kFloat)}, {{"dtype", DType::kFloat}});
  Node* call = Call("twice", {g_.Const(Tensor::Scalar(1.0f))}, DType::kFloat);
  g_.graph.AddControlEdge(assign, call);
  const Endpoint after = Read(v);
  g_.graph.AddControlEdge(call, after.node);
  g_.Result(after);
  EXPECT_TRUE(g_.ExpectSameResults(kInline, {Tensor::Scalar(6.0f)}));
  EXPECT_EQ(g_.CountOf("AssignVariableOp"), 1);
}

// Parts of a graph on different devices run in any order that the edges leave open.
TEST_F(InlineFunctionsTest, WhoWaitsForACallWaitsForWhatItReads) {
  const Endpoint v = AddVariable();
  Node* call = Call("peek", {v}, DType::kFloat);
  Node* assign =
      g_.OpNode("AssignVariableOp", {v, g_.Arg(DType::kFloat)}, {{"dtype", DType::kFloat}});
  g_.graph.AddControlEdge(call, assign);
  g_.Keep(assign);
  g_.Result({call, 0});
  EXPECT_TRUE(g_.Apply(kInline));
  Node* const done = g_.graph.FindNode("call_peek");
  ASSERT_NE(done, nullptr);
  EXPECT_THAT(done->control_inputs(), ElementsAre(g_.graph.FindNode("call_peek/read")));
  EXPECT_THAT(assign->control_inputs(), ElementsAre(done));
}

TEST_F(InlineFunctionsTest, SomeCallsStay) {
  const Endpoint x = g_.Arg(DType::kFloat);
  g_.Result({Call("apart", {x}, DType::kFloat), 0});
  g_.Result({Call("endless", {x}, DType::kFloat), 0});
  g_.Apply(kInline);
  EXPECT_NE(g_.graph.FindNode("call_apart"), nullptr);
  EXPECT_EQ(g_.CountOf("endless"), 1) << "one level is unrolled, the recursion stays";
}

TEST_F(InlineFunctionsTest, CallsThatDoNotFitTheFunctionStay) {
  g_.Result({Call("twice", {g_.Arg(DType::kInt32)}, DType::kInt32), 0});
  EXPECT_FALSE(g_.Apply(kInline));
}

TEST_F(InlineFunctionsTest, GraphsWithControlFlowAreLeftAlone) {
  Node* branch = g_.OpNode("Switch", {g_.Arg(DType::kFloat), g_.Arg(DType::kBool)});
  g_.Result({Call("twice", {{branch, 1}}, DType::kFloat), 0});
  EXPECT_FALSE(g_.Apply(kInline));
}

TEST_F(InlineFunctionsTest, ResourcesNamedAfterTheirNodeKeepTheirName) {
  AddVariable();
  g_.Result(Read({Call("own_variable", {}, DType::kResource), 0}));
  EXPECT_TRUE(g_.ExpectSameResults(kInline, {}));
  EXPECT_EQ(g_.Only("VarHandleOp")->attr<std::string>("shared_name").value(), "v");
}

TEST_F(InlineFunctionsTest, SummaryKeepsTheNameOfItsNode) {
  g_.Result({Call("summarise_within", {g_.Arg(DType::kFloat)}, DType::kString), 0});
  ASSERT_TRUE(g_.Apply(kInline));
  EXPECT_EQ(g_.Only("TensorSummary")->attr<std::string>("_node_name").value(), "summary");
}

}  // namespace
}  // namespace tessera

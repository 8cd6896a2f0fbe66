#include "runtime/session/variable_writes.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/logging.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/testing/graph_text.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

// Handles h1 to h4: h1 is read by the graph, h2 is read in a function, h3 is assigned in a function
// called by a function, h4 goes round a While whose body assigns it. References v1 and v2: v1 is
// read, v2 assigned through an Identity of references.
constexpr char kGraph[] = R"(
  stateful def outer(a: resource, b: resource, c: float) -> (y: float):
    read = ReadVariableOp(a) {dtype: float}
    inner = StatefulPartitionedCall(b, c) {Tin: [resource, float], Tout: [], f: @set}
  return (y = read:value:0, ^inner)

  stateful def set(a: resource, value: float):
    assign = AssignVariableOp(a, value) {dtype: float}
  return ()

  stateful def zero(a: resource) -> (b: resource):
    nil = Const() {dtype: float, value: float(0)}
    assign = AssignVariableOp(a, nil:output:0) {dtype: float}
  return (b = a)

  def never(a: resource) -> (b: bool):
    no = Const() {dtype: bool, value: bool(false)}
  return (b = no:output:0)

  h1 = VarHandleOp() {dtype: float, shape: <>}
  h2 = VarHandleOp() {dtype: float, shape: <>}
  h3 = VarHandleOp() {dtype: float, shape: <>, shared_name: "third"}
  h4 = VarHandleOp() {dtype: float, shape: <>}
  read = ReadVariableOp(h1) {dtype: float}
  call = StatefulPartitionedCall(h2, h3, read) {Tin: [resource, resource, float], Tout: [float],
      f: @outer}
  while = While(h4) {T: [resource], body: @zero, cond: @never}
  v1 = VariableV2() {dtype: float, shape: <>}
  v2 = VariableV2() {dtype: float, shape: <>}
  read_v1 = Identity(v1) {T: float}
  same_v2 = RefIdentity(v2) {T: float}
  assign = Assign(same_v2, read_v1) {T: float}
)";

TEST(VariableWritesTest, FollowsHandlesAndReferencesThroughCalls) {
  absl::StatusOr<std::unique_ptr<Graph>> graph = ImportGraph(GraphFromText(kGraph));
  ASSERT_TRUE(graph.ok()) << graph.status();
  VariableWrites writes;
  const absl::Status status = writes.Add(**graph);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_FALSE(writes.MayWrite(*(*graph)->FindNode("h1")));
  EXPECT_FALSE(writes.MayWrite(*(*graph)->FindNode("h2")));
  EXPECT_TRUE(writes.MayWrite(*(*graph)->FindNode("h3")));
  EXPECT_TRUE(writes.MayWrite(*(*graph)->FindNode("h4")));
  EXPECT_FALSE(writes.MayWrite(*(*graph)->FindNode("v1")));
  EXPECT_TRUE(writes.MayWrite(*(*graph)->FindNode("v2")));
}

TEST(VariableWritesTest, UnknownReaderCountsAsWriter) {
  absl::StatusOr<std::unique_ptr<Graph>> graph = ImportGraph(GraphFromText(R"(
    h = VarHandleOp() {dtype: float, shape: <>}
    destroy = DestroyResourceOp(h)
  )"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  VariableWrites writes;
  ASSERT_TRUE(writes.Add(**graph).ok());
  EXPECT_TRUE(writes.MayWrite(*(*graph)->FindNode("h")));
}

TEST(VariableWritesTest, HandlesThatOneNodeGivesAreToldApart) {
  Graph graph;
  const AttrMap variable = {{"dtype", DType::kFloat}, {"shape", PartialShape({})}};
  Node* const a = graph.AddNode("a", "VarHandleOp", variable).value();
  Node* const b = graph.AddNode("b", "VarHandleOp", variable).value();
  Node* const both = graph
                         .AddNode("both", "_VarHandlesOp",
                                  {{"N", 2},
                                   {"containers", std::vector<std::string>{"", ""}},
                                   {"shared_names", std::vector<std::string>{"a", "b"}},
                                   {"dtypes", std::vector<DType>{DType::kFloat, DType::kFloat}},
                                   {"shapes", std::vector<PartialShape>(2)}})
                         .value();
  const AttrMap types = {{"T", std::vector<DType>{DType::kResource, DType::kResource}}};
  Node* const same = graph.AddNode("same", "IdentityN", types).value();
  Node* const read = graph.AddNode("read", "ReadVariableOp", {{"dtype", DType::kFloat}}).value();
  Node* const add = graph.AddNode("add", "AssignAddVariableOp", {{"dtype", DType::kFloat}}).value();
  ASSERT_TRUE(graph.Connect({both, 0}, same, 0).ok());
  ASSERT_TRUE(graph.Connect({both, 1}, same, 1).ok());
  ASSERT_TRUE(graph.Connect({same, 0}, read, 0).ok());
  ASSERT_TRUE(graph.Connect({same, 1}, add, 0).ok());
  ASSERT_TRUE(graph.Connect({read, 0}, add, 1).ok());
  VariableWrites writes;
  ASSERT_TRUE(writes.Add(graph).ok());
  EXPECT_FALSE(writes.MayWrite(*a));
  EXPECT_TRUE(writes.MayWrite(*b));
}

// An op library may forget to say what its op does with a handle.
REGISTER_OP("TestUndeclaredUse").Input("x: resource").Output("y: float");

TEST(VariableWritesTest, UndeclaredUseCountsAsAWrite) {
  Graph graph;
  Node* const variable =
      graph.AddNode("v", "VarHandleOp", {{"dtype", DType::kFloat}, {"shape", PartialShape({})}})
          .value();
  Node* const user = graph.AddNode("user", "TestUndeclaredUse", {}).value();
  ASSERT_TRUE(graph.Connect({variable, 0}, user, 0).ok());
  VariableWrites writes;
  ASSERT_TRUE(writes.Add(graph).ok());
  EXPECT_TRUE(writes.MayWrite(*variable));
}

TEST(VariableWritesTest, ACallInAGraphWithoutFunctionsIsAnError) {
  const auto graph = ImportGraph(GraphFromText(R"(
    x = Placeholder() {dtype: float}
    call = PartitionedCall(x) {Tin: [float], Tout: [float], f: @gone}
  )"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const absl::Status status = VariableWrites().Add(**graph);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(status.message().find("'call' calls the function 'gone'"), std::string::npos) << status;
}

TEST(VariableWritesTest, CallsTooDeepToFollowAreAnError) {
  constexpr int kFunctions = 5000;
  tensorflow::GraphDef graph_def;
  for (int i = 0; i < kFunctions; ++i) {
    tensorflow::FunctionDef* function = graph_def.mutable_library()->add_function();
    function->mutable_signature()->set_name(absl::StrCat("level_", i));
    tensorflow::NodeDef* call = function->add_node_def();
    call->set_name("call");
    call->set_op(i + 1 == kFunctions ? "NoOp" : absl::StrCat("level_", i + 1));
    (*function->mutable_control_ret())["done"] = "call";
    function->mutable_signature()->add_control_output("done");
  }
  for (const int first : {kFunctions - 500, 0}) {
    graph_def.clear_node();
    tensorflow::NodeDef* call = graph_def.add_node();
    call->set_name("call");
    call->set_op(absl::StrCat("level_", first));
    const auto graph = ImportGraph(graph_def).value();
    EXPECT_EQ(VariableWrites().Add(*graph).code(),
              first > 0 ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace tessera

#include "runtime/session/restored_variables.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/graph_import.h"
#include "runtime/graph/testing/graph_text.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

constexpr char kRestore[] = R"(
  prefix = Placeholder() {dtype: string}
  names = Const() {dtype: string, value: string(["w"])}
  slices = Const() {dtype: string, value: string([""])}
  read = RestoreV2(prefix, names, slices) {dtypes: [float]}
  v = VarHandleOp() {dtype: float, shape: <2>, shared_name: "v"}
)";

// More nodes than there are frames on a stack.
TEST(RestoredVariablesTest, AVariableMayComeThroughAnyNumberOfIdentities) {
  tensorflow::GraphDef def = GraphFromText(kRestore);
  std::string last = "read";
  for (int i = 0; i < 100'000; ++i) {
    tensorflow::NodeDef* const node = def.add_node();
    node->set_name("pass_" + std::to_string(i));
    node->set_op("Identity");
    node->add_input(last);
    (*node->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
    last = node->name();
  }
  tensorflow::NodeDef* const assign = def.add_node();
  assign->set_name("assign");
  assign->set_op("AssignVariableOp");
  assign->add_input("v");
  assign->add_input(last);
  (*assign->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
  const auto graph = ImportGraph(def);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto variables = FindRestoredVariables(**graph, "assign");
  ASSERT_TRUE(variables.ok()) << variables.status();
  ASSERT_EQ(variables->size(), 1);
  EXPECT_EQ(variables->front().key, "w");
  EXPECT_EQ(variables->front().name, "v");
}

TEST(RestoredVariablesTest, OneTensorMayGoToSeveralVariables) {
  const auto graph = ImportGraph(GraphFromText(std::string(kRestore) + R"(
    u = VarHandleOp() {dtype: float, shape: <2>, shared_name: "u"}
    pass = Identity(read) {T: float}
    assign_v = AssignVariableOp(v, read) {dtype: float}
    assign_u = AssignVariableOp(u, pass) {dtype: float}
    restore = NoOp(^assign_v, ^assign_u)
  )"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto variables = FindRestoredVariables(**graph, "restore");
  ASSERT_TRUE(variables.ok()) << variables.status();
  ASSERT_EQ(variables->size(), 2);
  EXPECT_EQ(variables->at(0).key, "w");
  EXPECT_EQ(variables->at(1).key, "w");
  EXPECT_NE(variables->at(0).name, variables->at(1).name);
}

}  // namespace
}  // namespace tessera

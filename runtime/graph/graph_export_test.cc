#include "runtime/graph/graph_export.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "runtime/graph/function.h"
#include "runtime/graph/graph_import.h"
#include "runtime/graph/testing/recorded_graphs.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

std::vector<std::string> ControlNames(const Node& node) {
  std::vector<std::string> names;
  for (const Node* control : node.control_inputs()) names.push_back(control->name());
  return names;
}

std::vector<std::string> InputNames(const Node& node) {
  std::vector<std::string> names;
  for (const Endpoint& input : node.inputs()) names.push_back(TensorName(input));
  return names;
}

void ExpectEqual(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.num_nodes(), b.num_nodes());
  for (const Node* node : a.nodes()) {
    const Node* other = b.FindNode(node->name());
    ASSERT_NE(other, nullptr) << node->name();
    EXPECT_EQ(node->op_name(), other->op_name());
    EXPECT_EQ(node->device(), other->device());
    EXPECT_EQ(InputNames(*node), InputNames(*other));
    EXPECT_EQ(ControlNames(*node), ControlNames(*other));
    EXPECT_EQ(node->input_types(), other->input_types());
    EXPECT_EQ(node->output_types(), other->output_types());
    ASSERT_EQ(node->attrs().size(), other->attrs().size()) << node->name();
    for (const auto& [name, value] : node->attrs()) {
      // By text, for which NaN equals itself.
      EXPECT_EQ(value.ToString(), other->attrs().at(name).ToString())
          << node->name() << " " << name;
    }
  }
  EXPECT_EQ(a.versions().producer, b.versions().producer);
}

// Functions that can be built without attributes; the others need those of their callers.
int InstantiateAll(const Graph& graph) {
  int built = 0;
  if (graph.library() == nullptr) return built;
  for (const std::string& name : graph.library()->Names()) {
    if (!graph.library()->FindSignature(name)->attrs.empty()) continue;
    const auto body = graph.library()->Instantiate(FunctionRef{name, {}});
    EXPECT_TRUE(body.ok()) << body.status();
    built += body.ok();
  }
  return built;
}

void CheckRoundTrips(const std::vector<std::string>& files, int* functions) {
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const auto graph = ImportGraph(ReadRecordedGraph(file));
    ASSERT_TRUE(graph.ok()) << graph.status();
    tensorflow::GraphDef exported, again;
    ExportGraph(**graph, &exported);
    const auto reimported = ImportGraph(exported);
    ASSERT_TRUE(reimported.ok()) << reimported.status();
    ExpectEqual(**graph, **reimported);
    ExportGraph(**reimported, &again);
    EXPECT_EQ(exported.library().function_size(), again.library().function_size());
    *functions += InstantiateAll(**graph);
  }
}

TEST(GraphExportTest, RecordedGraphsComeBackEqual) {
  const std::vector<std::string> files = RecordedGraphFiles();
  ASSERT_GT(files.size(), 10u);
  int functions = 0;
  CheckRoundTrips(files, &functions);
  EXPECT_GT(functions, 10);
}

TEST(GraphExportTest, RecordedModelsComeBackEqual) {
  const std::vector<std::string> files = RecordedModelFiles();
  ASSERT_GT(files.size(), 10u);
  int functions = 0;
  CheckRoundTrips(files, &functions);
  EXPECT_GT(functions, 50);
}

TEST(GraphExportTest, EveryKindOfAttributeSurvives) {
  tensorflow::GraphDef graph_def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    node { name: "n" op: "NoOp"
      attr { key: "s" value { s: "\000\377" } } attr { key: "i" value { i: -5 } }
      attr { key: "f" value { f: 0.1 } } attr { key: "b" value { b: true } }
      attr { key: "type" value { type: DT_FLOAT_REF } }
      attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } }
      attr { key: "no_shape" value { shape { unknown_rank: true } } }
      attr { key: "tensor" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } }
                                            string_val: "a" string_val: "b" } } }
      attr { key: "func" value { func { name: "g"
             attr { key: "h" value { func { name: "h" } } } } } }
      attr { key: "placeholder" value { placeholder: "T" } }
      attr { key: "none" value { } } attr { key: "empty" value { list { } } }
      attr { key: "ls" value { list { s: "x" s: "" } } } attr { key: "li" value { list { i: 0 } } }
      attr { key: "lf" value { list { f: 1 f: 2 } } } attr { key: "lb" value { list { b: false } } }
      attr { key: "lt" value { list { type: DT_HALF } } }
      attr { key: "lshape" value { list { shape { } shape { unknown_rank: true } } } }
      attr { key: "ltensor" value { list { tensor { dtype: DT_INT32 tensor_shape { }
                                                    tensor_content: "\001\000\000\000" } } } }
      attr { key: "lfunc" value { list { func { name: "g" } } } } }
    versions { producer: 22 min_consumer: 3 bad_consumers: 9 })",
                                                            &graph_def));
  const auto graph = ImportGraph(graph_def).value();
  tensorflow::GraphDef exported;
  ExportGraph(*graph, &exported);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(graph_def, exported))
      << exported.DebugString();
}

TEST(GraphExportTest, StandInsAreWrittenAsWhatTheyStandFor) {
  tensorflow::GraphDef graph_def;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(node { name: "f" op: "Foo" attr { key: "Tin" value { i: 7 } } }
         node { name: "g" op: "Foo" input: "f:2" input: "^f" }
         versions { })",
      &graph_def));
  const auto graph = ImportGraph(graph_def, {.allow_unknown_ops = true}).value();
  tensorflow::GraphDef exported;
  ExportGraph(*graph, &exported);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(graph_def, exported))
      << exported.DebugString();
}

TEST(GraphExportTest, LargeConstantOfOneValueIsWrittenAsOne) {
  tensorflow::GraphDef graph_def;
  tensorflow::NodeDef& node = *graph_def.add_node();
  node.set_name("c");
  node.set_op("Const");
  (*node.mutable_attr())["dtype"].set_type(tensorflow::DT_DOUBLE);
  tensorflow::TensorProto& value = *(*node.mutable_attr())["value"].mutable_tensor();
  value.set_dtype(tensorflow::DT_DOUBLE);
  value.mutable_tensor_shape()->add_dim()->set_size(1 << 20);
  value.add_double_val(-0.5);
  const auto graph = ImportGraph(graph_def).value();

  tensorflow::GraphDef exported;
  ExportGraph(*graph, &exported);

  EXPECT_LT(exported.ByteSizeLong(), 1000);
  const auto again = ImportGraph(exported).value();
  const Tensor kept = again->FindNode("c")->attr<Tensor>("value").value();
  ASSERT_EQ(kept.shape(), Shape({1 << 20}));
  EXPECT_EQ(kept.flat<double>().back(), -0.5);
}

}  // namespace
}  // namespace tessera

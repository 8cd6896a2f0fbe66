#include "runtime/graph/graph_import.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "runtime/graph/function.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

tensorflow::GraphDef Parse(const std::string& text) {
  tensorflow::GraphDef graph_def;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &graph_def)) << text;
  return graph_def;
}

constexpr char kConst[] = R"(
  node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } })";

absl::Status ImportError(const std::string& text, const GraphImportOptions& options = {}) {
  return ImportGraph(Parse(text), options).status();
}

TEST(GraphImportTest, ConnectsNodesInAnyOrder) {
  const auto graph = ImportGraph(Parse(std::string(R"(
    node { name: "n" op: "Neg" input: "c:0" input: "^later" device: "/cpu:0"
           attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "later" op: "NoOp" })") +
                                       kConst))
                         .value();
  const Node* neg = graph->FindNode("n");
  EXPECT_EQ(neg->input(0), (Endpoint{graph->FindNode("c"), 0}));
  EXPECT_THAT(neg->control_inputs(), ElementsAre(graph->FindNode("later")));
  EXPECT_EQ(neg->device(), "/cpu:0");
  EXPECT_EQ(graph->FindNode("c")->attr<Tensor>("value")->scalar<float>(), 3);
}

// The initial value of an optimizer's slot for a large table, which a served graph never runs.
TEST(GraphImportTest, ConstantOfOneValueTakesLittleMemory) {
  const auto graph = ImportGraph(Parse(R"(
    node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "value" value { tensor { dtype: DT_FLOAT float_val: 0.5
               tensor_shape { dim { size: 300000001 } dim { size: 3 } } } } } })"))
                         .value();
  const Tensor value = graph->FindNode("c")->attr<Tensor>("value").value();
  ASSERT_EQ(value.shape(), Shape({300000001, 3}));
  const absl::Span<const float> elements = value.flat<float>();
  EXPECT_EQ(elements.front(), 0.5f);
  EXPECT_EQ(elements[450000001], 0.5f);
  EXPECT_EQ(elements.back(), 0.5f);

  // Its pages are its own once they are written.
  Tensor copy = value;
  reinterpret_cast<float*>(copy.mutable_raw())[0] = 2;
  EXPECT_EQ(elements[1], 0.5f);
  EXPECT_EQ(elements[16 << 20], 0.5f);
}

TEST(GraphImportTest, RefusesConstantsBeyondAllMemory) {
  EXPECT_THAT(
      ImportError(R"(
    node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "value" value { tensor { dtype: DT_FLOAT float_val: 0.5
               tensor_shape { dim { size: 100000000000 } } } } } })")
          .ToString(),
      AllOf(HasSubstr("RESOURCE_EXHAUSTED"), HasSubstr("node 'c' (Const): attribute 'value': "),
            HasSubstr("[100000000000]")));
}

TEST(GraphImportTest, KeepsAttributesOfNewerProducers) {
  const auto graph = ImportGraph(Parse(R"(
    node { name: "n" op: "NoOp" attr { key: "brand_new" value { b: true } } })"))
                         .value();
  EXPECT_TRUE(graph->FindNode("n")->attr<bool>("brand_new").value());
}

TEST(GraphImportTest, NamesTheNodeOfEachFault) {
  const struct {
    const char* fault;
    std::string text;
    const char* message;
  } kCases[] = {
      {"duplicate", R"(node { name: "n" op: "NoOp" } node { name: "n" op: "NoOp" })", "'n'"},
      {"unknown input",
       R"(node { name: "n" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } })",
       "node 'n' (Neg): its input 'x'"},
      {"unknown control", R"(node { name: "n" op: "NoOp" input: "^x" })", "'^x'"},
      {"output out of range",
       std::string(kConst) +
           R"(node { name: "n" op: "Neg" input: "c:1" attr { key: "T" value { type: DT_FLOAT } } })",
       "output 1 of node 'c'"},
      {"dtype",
       std::string(kConst) +
           R"(node { name: "n" op: "Neg" input: "c" attr { key: "T" value { type: DT_INT32 } } })",
       "must be int32"},
      {"too few inputs",
       R"(node { name: "n" op: "Neg" attr { key: "T" value { type: DT_FLOAT } } })",
       "has 0 inputs where the op takes 1"},
      {"too many inputs", std::string(kConst) + R"(node { name: "n" op: "NoOp" input: "c" })",
       "has 1 inputs where the op takes 0"},
      {"missing attribute", R"(node { name: "n" op: "Placeholder" })", "'dtype'"},
      {"attribute type",
       R"(node { name: "n" op: "Placeholder" attr { key: "dtype" value { i: 1 } } })", "'dtype'"},
      {"cycle",
       R"(node { name: "a" op: "NoOp" input: "^b" } node { name: "b" op: "NoOp" input: "^a" })",
       "cycle"},
      {"bad name", R"(node { name: "a:0" op: "NoOp" })", "'a:0'"},
      {"dtype number", R"(node { name: "n" op: "NoOp" attr { key: "x" value { type: 99 } } })",
       "dtype number 99"},
      {"op of the runtime",
       R"(node { name: "n" op: "_Retval" attr { key: "T" value { type: DT_FLOAT } }
          attr { key: "index" value { i: 7 } } })",
       "made by the runtime alone"},
      {"too new", R"(versions { producer: 9999 min_consumer: 9999 })", "9999"},
      {"bad consumer", R"(versions { producer: 1 bad_consumers: 2474 })", "2474"},
      {"deprecated op",
       R"(versions { producer: 2474 } node { name: "n" op: "BatchMatrixInverse" input: "n"
          attr { key: "T" value { type: DT_FLOAT } } })",
       "was removed in GraphDef version"},
  };
  for (const auto& c : kCases) {
    const absl::Status status = ImportError(c.text);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.fault << ": " << status;
    EXPECT_THAT(status.ToString(), HasSubstr(c.message)) << c.fault;
  }
}

constexpr char kUnknown[] = R"(
  node { name: "f1" op: "Foo" input: "c" input: "^c" attr { key: "Tin" value { i: 7 } } }
  node { name: "f2" op: "Foo" input: "f1:1" }
  node { name: "b" op: "Bar" input: "f2" input: "^f1" }
  node { name: "n" op: "Neg" input: "f1:1" input: "^b" attr { key: "T" value { type: DT_INT32 } } })";

TEST(GraphImportTest, ListsAllUnknownOpsInOneMessage) {
  const absl::Status status = ImportError(std::string(kConst) + kUnknown);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.ToString(), AllOf(HasSubstr("2 ops are unknown"), HasSubstr("Bar (node 'b')"),
                                       HasSubstr("Foo (nodes 'f1', 'f2')")));
}

TEST(GraphImportTest, StandInsTakeTheTypesThatEdgesImply) {
  const auto graph =
      ImportGraph(Parse(std::string(kConst) + kUnknown), {.allow_unknown_ops = true}).value();
  const Node* f1 = graph->FindNode("f1");
  EXPECT_TRUE(f1->IsOp("_Unsupported"));
  EXPECT_EQ(f1->attr<std::string>("_op").value(), "Foo");
  EXPECT_EQ(f1->attr<int64_t>("Tin").value(), 7) << "the op's own attributes stay";
  EXPECT_THAT(f1->input_types(), ElementsAre(DType::kFloat));
  EXPECT_THAT(f1->output_types(), ElementsAre(DType::kInvalid, DType::kInt32));
  EXPECT_THAT(f1->control_inputs(), ElementsAre(graph->FindNode("c")));
  EXPECT_EQ(graph->FindNode("f2")->input(0), (Endpoint{graph->FindNode("f1"), 1}));
  EXPECT_EQ(graph->FindNode("n")->input(0), (Endpoint{graph->FindNode("f1"), 1}));
  EXPECT_THAT(graph->FindNode("b")->control_inputs(), ElementsAre(f1));
}

TEST(GraphImportTest, UsesOfAStandInMustAgree) {
  const absl::Status status = ImportError(R"(
    node { name: "f" op: "Foo" }
    node { name: "a" op: "Neg" input: "f" attr { key: "T" value { type: DT_INT32 } } }
    node { name: "b" op: "Neg" input: "f" attr { key: "T" value { type: DT_FLOAT } } })",
                                          {.allow_unknown_ops = true});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.ToString(), HasSubstr("node 'f'"));
}

TEST(GraphImportTest, ExtendingMayReferToNodesThatAreThere) {
  const auto graph = ImportGraph(Parse(kConst)).value();
  ASSERT_TRUE(ImportInto(Parse(R"(node { name: "n" op: "Neg" input: "c"
                                         attr { key: "T" value { type: DT_FLOAT } } })"),
                         {}, graph.get())
                  .ok());
  EXPECT_EQ(graph->FindNode("n")->input(0).node, graph->FindNode("c"));
}

TEST(GraphImportTest, FailedExtendLeavesTheGraphAlone) {
  const auto graph = ImportGraph(Parse(kConst)).value();
  const absl::Status status = ImportInto(Parse(R"(
      versions { producer: 7 }
      library { function { signature { name: "f" } } }
      node { name: "n" op: "Neg" input: "c" attr { key: "T" value { type: DT_FLOAT } } }
      node { name: "bad" op: "Neg" input: "gone" attr { key: "T" value { type: DT_FLOAT } } })"),
                                         {}, graph.get());
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(graph->num_nodes(), 1);
  EXPECT_TRUE(graph->FindNode("c")->uses(0).empty());
  EXPECT_EQ(graph->library(), nullptr);
  EXPECT_EQ(graph->versions().producer, 0);
}

TEST(GraphImportTest, FunctionsAreOps) {
  const auto graph = ImportGraph(Parse(std::string(kConst) + R"(
    library { function { signature { name: "twice"
      input_arg { name: "x" type_attr: "T" } output_arg { name: "y" type_attr: "T" }
      attr { name: "T" type: "type" } }
      node_def { name: "sum" op: "AddV2" input: "x" input: "x"
                 attr { key: "T" value { placeholder: "T" } } }
      ret { key: "y" value: "sum:z:0" } } }
    node { name: "call" op: "twice" input: "c" attr { key: "T" value { type: DT_FLOAT } } })"))
                         .value();
  const Node* call = graph->FindNode("call");
  EXPECT_THAT(call->output_types(), ElementsAre(DType::kFloat));
  EXPECT_TRUE(graph->library()->Contains("twice"));
}

}  // namespace
}  // namespace tessera

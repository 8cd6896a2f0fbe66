#include "runtime/stablehlo/expand_call_modules.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/file_system.h"
#include "runtime/base/logging.h"
#include "runtime/graph/graph_import.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/protobuf/saved_model.pb.h"

namespace tessera::stablehlo {
namespace {

using ::testing::HasSubstr;

tensorflow::GraphDef RecordedGraph(const std::string& model) {
  tensorflow::SavedModel saved;
  const std::string path = "tests/data/stablehlo/" + model + "/1/saved_model.pb";
  CHECK(saved.ParseFromString(ReadFile(path).value()));
  return saved.meta_graphs(0).graph_def();
}

// The nodes of a graph and of its functions that have an op.
std::vector<tensorflow::NodeDef*> NodesWithOp(tensorflow::GraphDef* graph, const std::string& op) {
  std::vector<tensorflow::NodeDef*> nodes;
  auto add = [&](auto* all) {
    for (tensorflow::NodeDef& node : *all) {
      if (node.op() == op) nodes.push_back(&node);
    }
  };
  add(graph->mutable_node());
  for (auto& function : *graph->mutable_library()->mutable_function()) {
    add(function.mutable_node_def());
  }
  return nodes;
}

class ExpandTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ExpandTest, MakesFunctionsOfOrdinaryOps) {
  tensorflow::GraphDef graph = RecordedGraph(GetParam());
  ASSERT_FALSE(NodesWithOp(&graph, "XlaCallModule").empty());
  ExpandCallModules(&graph);
  for (const tensorflow::NodeDef* node : NodesWithOp(&graph, "XlaCallModule")) {
    ADD_FAILURE() << node->attr().at("_unsupported").s();
  }
  EXPECT_TRUE(ImportGraph(graph, {.allow_unknown_ops = true}).ok());
}

INSTANTIATE_TEST_SUITE_P(Models, ExpandTest,
                         ::testing::Values("mlp", "cnn", "lstm", "signal", "numbers", "matrices",
                                           "sizes"));

TEST(ExpandCallModulesTest, KeepsWhatCannotBeReadAndSaysWhy) {
  tensorflow::GraphDef graph = RecordedGraph("mlp");
  tensorflow::NodeDef* node = NodesWithOp(&graph, "XlaCallModule").at(0);
  (*node->mutable_attr())["module"].set_s("no bytecode");
  ExpandCallModules(&graph);
  node = NodesWithOp(&graph, "XlaCallModule").at(0);
  EXPECT_THAT(node->attr().at("_unsupported").s(), HasSubstr("not MLIR bytecode"));
}

TEST(ExpandCallModulesTest, NamesTheOpThatHasNoTranslation) {
  tensorflow::GraphDef graph = RecordedGraph("mlp");
  tensorflow::NodeDef* node = NodesWithOp(&graph, "XlaCallModule").at(0);
  std::string* module = (*node->mutable_attr())["module"].mutable_s();
  const size_t name = module->find("dot_general_v2");
  ASSERT_NE(name, std::string::npos);
  module->replace(name, 3, "odd");
  ExpandCallModules(&graph);
  node = NodesWithOp(&graph, "XlaCallModule").at(0);
  EXPECT_THAT(node->attr().at("_unsupported").s(), HasSubstr("'odd_general'"));
}

TEST(ExpandCallModulesTest, RefusesAModuleThatWasNotMadeForCpus) {
  tensorflow::GraphDef graph = RecordedGraph("mlp");
  tensorflow::NodeDef* node = NodesWithOp(&graph, "XlaCallModule").at(0);
  auto* platforms = (*node->mutable_attr())["platforms"].mutable_list();
  platforms->clear_s();
  platforms->add_s("TPU");
  ExpandCallModules(&graph);
  node = NodesWithOp(&graph, "XlaCallModule").at(0);
  EXPECT_THAT(node->attr().at("_unsupported").s(), HasSubstr("not exported for CPUs"));
}

TEST(ExpandCallModulesTest, LeavesOutTheChecksThatAreDisabled) {
  tensorflow::GraphDef graph = RecordedGraph("sizes");
  tensorflow::GraphDef checked = graph;
  ExpandCallModules(&checked);
  EXPECT_FALSE(NodesWithOp(&checked, "Assert").empty());

  tensorflow::NodeDef* node = NodesWithOp(&graph, "XlaCallModule").at(0);
  auto* platforms = (*node->mutable_attr())["platforms"].mutable_list();
  platforms->clear_s();
  platforms->add_s("TPU");
  auto* disabled = (*node->mutable_attr())["disabled_checks"].mutable_list();
  disabled->add_s("platform");
  disabled->add_s("shape_assertions");
  ExpandCallModules(&graph);
  EXPECT_TRUE(NodesWithOp(&graph, "XlaCallModule").empty());
  EXPECT_TRUE(NodesWithOp(&graph, "Assert").empty());
}

}  // namespace
}  // namespace tessera::stablehlo

// AddGradients() on the graphs whose gradients TensorFlow recorded: see gradient_recording.py.
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/graph/graph_export.h"
#include "runtime/graph/graph_import.h"
#include "runtime/session/session.h"
#include "runtime/training/gradients/gradients.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tests/conformance/tensor_compare.h"

namespace tessera {
namespace {

std::vector<std::filesystem::path> CaseFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/data/golden/made/gradients")) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> Names(const Node& node, absl::string_view attr) {
  return node.attr<std::vector<std::string>>(attr).value();
}

std::vector<Endpoint> Ends(const Graph& graph, const Node& node, absl::string_view attr) {
  std::vector<Endpoint> ends;
  for (const std::string& name : Names(node, attr)) {
    ends.push_back(graph.FindEndpoint(name).value());
  }
  return ends;
}

Tolerance ToleranceOf(const Node& node) {
  Tolerance tolerance;
  if (auto rtol = node.attr<float>("_rtol"); rtol.ok()) tolerance.rtol = *rtol;
  if (auto atol = node.attr<float>("_atol"); atol.ok()) tolerance.atol = *atol;
  return tolerance;
}

// Adds the gradients of a case, which `description` is in `graph`, and compares them.
void Check(Graph* graph, const Node& description) {
  const std::vector<Endpoint> xs = Ends(*graph, description, "_xs");
  const auto gradients =
      AddGradients(graph, Ends(*graph, description, "_ys"), xs, Ends(*graph, description, "_dys"));
  ASSERT_TRUE(gradients.ok()) << gradients.status();
  const std::vector<std::string> wanted = Names(description, "_want");
  std::vector<std::string> fetches;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (wanted[i].empty()) continue;
    ASSERT_FALSE((*gradients)[i].is_none()) << TensorName(xs[i]) << " has no gradient";
    fetches.push_back(TensorName(AddDenseGradient(graph, (*gradients)[i]).value()));
    fetches.push_back(wanted[i]);
  }
  // Through a GraphDef, so that functions and names are what others would read.
  tensorflow::GraphDef graph_def;
  ExportGraph(*graph, &graph_def);
  const std::unique_ptr<Session> session = Session::Create({}).value();
  ASSERT_TRUE(session->Extend(graph_def).ok());
  std::vector<Tensor> outputs;
  for (const std::string& node : Names(description, "_init")) {
    ASSERT_TRUE(session->Run({}, {}, {node}, &outputs).ok());
  }
  const absl::Status status = session->Run({}, fetches, {}, &outputs);
  ASSERT_TRUE(status.ok()) << status;
  for (size_t i = 0; i < outputs.size(); i += 2) {
    EXPECT_EQ(FirstDifference(outputs[i], outputs[i + 1], ToleranceOf(description)), "")
        << fetches[i + 1];
  }
}

class GradientCasesTest : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(GradientCasesTest, AreAsTensorFlowComputesThem) {
  std::ifstream file(GetParam(), std::ios::binary);
  tensorflow::GraphDef graph_def;
  ASSERT_TRUE(graph_def.ParseFromIstream(&file));
  const std::unique_ptr<Graph> all = ImportGraph(graph_def).value();
  int cases = 0;
  for (const Node* node : all->nodes()) {
    if (!node->IsOp("NoOp") || !node->attrs().contains("_ys")) continue;
    ++cases;
    const std::unique_ptr<Graph> graph = all->Clone();
    std::string ops;
    for (const Endpoint& y : Ends(*graph, *node, "_ys")) {
      absl::StrAppend(&ops, " ", y.node->op_name());
    }
    SCOPED_TRACE(absl::StrCat(node->name(), ":", ops));
    Check(graph.get(), *graph->FindNode(node->name()));
  }
  EXPECT_GT(cases, 0);
}

INSTANTIATE_TEST_SUITE_P(All, GradientCasesTest, ::testing::ValuesIn(CaseFiles()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace tessera

#include "tests/conformance/gradient_case.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_export.h"
#include "runtime/graph/graph_import.h"
#include "runtime/session/session.h"
#include "runtime/training/gradients/gradients.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tests/conformance/read_message.h"
#include "tests/conformance/tensor_compare.h"

namespace tessera {
namespace {

absl::StatusOr<std::vector<std::string>> Names(const Node& node, absl::string_view attr) {
  return node.attr<std::vector<std::string>>(attr);
}

absl::StatusOr<std::vector<Endpoint>> Ends(const Graph& graph, const Node& node,
                                           absl::string_view attr) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(node, attr));
  std::vector<Endpoint> ends;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const Endpoint end, graph.FindEndpoint(name));
    ends.push_back(end);
  }
  return ends;
}

Tolerance ToleranceOf(const Node& node) {
  Tolerance tolerance;
  if (auto rtol = node.attr<float>("_rtol"); rtol.ok()) tolerance.rtol = *rtol;
  if (auto atol = node.attr<float>("_atol"); atol.ok()) tolerance.atol = *atol;
  return tolerance;
}

// Adds the gradients of the case, and returns the names of each of them and of what is wanted.
absl::StatusOr<std::vector<std::string>> AddGradientsOf(const Node& description, Graph* graph) {
  ASSIGN_OR_RETURN(const std::vector<Endpoint> ys, Ends(*graph, description, "_ys"));
  ASSIGN_OR_RETURN(const std::vector<Endpoint> xs, Ends(*graph, description, "_xs"));
  ASSIGN_OR_RETURN(const std::vector<Endpoint> dys, Ends(*graph, description, "_dys"));
  ASSIGN_OR_RETURN(const std::vector<std::string> wanted, Names(description, "_want"));
  ASSIGN_OR_RETURN(const std::vector<Gradient> gradients, AddGradients(graph, ys, xs, dys));
  std::vector<std::string> fetches;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (wanted[i].empty()) continue;
    if (gradients[i].is_none()) {
      return absl::NotFoundError(absl::StrCat(TensorName(xs[i]), " has no gradient"));
    }
    ASSIGN_OR_RETURN(const Endpoint dense, AddDenseGradient(graph, gradients[i]));
    fetches.push_back(TensorName(dense));
    fetches.push_back(wanted[i]);
  }
  return fetches;
}

absl::Status Compare(const GradientCase& gradient_case) {
  const std::unique_ptr<Graph> graph = gradient_case.graph->Clone();
  const Node& description = *graph->FindNode(gradient_case.description);
  const Tolerance tolerance = ToleranceOf(description);
  ASSIGN_OR_RETURN(const std::vector<std::string> init, Names(description, "_init"));
  ASSIGN_OR_RETURN(const std::vector<std::string> fetches,
                   AddGradientsOf(description, graph.get()));
  // Through a GraphDef, so that functions and names are what others would read.
  tensorflow::GraphDef graph_def;
  ExportGraph(*graph, &graph_def);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create({}));
  RETURN_IF_ERROR(session->Extend(graph_def));
  std::vector<Tensor> outputs;
  for (const std::string& node : init) {
    RETURN_IF_ERROR(session->Run({}, {}, {node}, &outputs));
  }
  RETURN_IF_ERROR(session->Run({}, fetches, {}, &outputs));
  for (size_t i = 0; i < outputs.size(); i += 2) {
    const std::string difference = FirstDifference(outputs[i], outputs[i + 1], tolerance);
    if (!difference.empty()) {
      return absl::DataLossError(absl::StrCat(fetches[i + 1], ": ", difference));
    }
  }
  return absl::OkStatus();
}

// Appends the cases of a file.
absl::Status ReadCases(const std::filesystem::path& file, std::vector<GradientCase>* cases) {
  ASSIGN_OR_RETURN(const auto graph_def, ReadMessage<tensorflow::GraphDef>(file.string()));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Graph> graph, ImportGraph(graph_def));
  for (const Node* node : graph->nodes()) {
    if (!node->IsOp("NoOp") || !node->attrs().contains("_ys")) continue;
    ASSIGN_OR_RETURN(const std::vector<Endpoint> ys, Ends(*graph, *node, "_ys"));
    std::string name =
        absl::StrCat(file.stem().string(), "/", absl::StripSuffix(node->name(), "/case"));
    for (const Endpoint& y : ys) absl::StrAppend(&name, " ", y.node->op_name());
    cases->push_back({graph, node->name(), std::move(name)});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<GradientCase>> FindGradientCases(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ListDirectory(directory));
  std::vector<GradientCase> cases;
  for (const std::string& file : files) {
    RETURN_IF_ERROR(ReadCases(JoinPath(directory, file), &cases));
  }
  return cases;
}

std::string CheckGradients(const GradientCase& gradient_case) {
  const absl::Status status = Compare(gradient_case);
  return status.ok() ? "" : status.ToString();
}

}  // namespace tessera

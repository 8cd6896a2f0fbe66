#include "runtime/training/program/precision.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/nearest_name.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

bool IsFloatProduct(const Node& node) {
  return (node.IsOp("MatMul") || node.IsOp("BatchMatMulV2") || node.IsOp("Conv2D")) &&
         node.attr<DType>("T").value_or(DType::kInvalid) == DType::kFloat;
}

absl::StatusOr<Node*> AddCast(Graph* graph, const std::string& name, const Endpoint& from, DType to,
                              const std::string& device) {
  const DType dtype = RemoveRef(from.node->output_type(from.index));
  AttrMap attrs = {{"SrcT", dtype}, {"DstT", to}};
  return graph->AddNode(name, "Cast", std::move(attrs), {from}, device);
}

// Puts a cast that has the product's name in its place, behind a product in bfloat16.
absl::Status Replace(Graph* graph, Node* node) {
  const std::string name = node->name();
  const std::string device = node->device();
  std::vector<Endpoint> inputs;
  for (int i = 0; i < node->num_inputs(); ++i) {
    const std::string cast = graph->UniqueName(absl::StrCat(name, "/bfloat16/input_", i));
    ASSIGN_OR_RETURN(Node* const input,
                     AddCast(graph, cast, node->input(i), DType::kBfloat16, device));
    inputs.push_back({input, 0});
  }
  AttrMap attrs = node->attrs();
  attrs["T"] = DType::kBfloat16;
  ASSIGN_OR_RETURN(Node* const product,
                   graph->AddNode(graph->UniqueName(absl::StrCat(name, "/bfloat16")),
                                  node->op_name(), std::move(attrs), inputs, device));
  const std::vector<Use> uses = node->uses(0);
  const std::vector<Node*> before = node->control_inputs();
  const std::vector<Node*> after = node->control_outputs();
  graph->Remove(node);
  ASSIGN_OR_RETURN(Node* const result, AddCast(graph, name, {product, 0}, DType::kFloat, device));
  for (const Use& use : uses) RETURN_IF_ERROR(graph->Connect({result, 0}, use.node, use.index));
  for (Node* each : before) graph->AddControlEdge(each, product);
  for (Node* each : after) graph->AddControlEdge(result, each);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> UsesBfloat16(const std::string& precision) {
  if (precision.empty() || precision == "float32") return false;
  if (precision == "bfloat16") return true;
  return absl::InvalidArgumentError(absl::StrCat("precision is '", precision,
                                                 "', which is neither float32 nor bfloat16",
                                                 DidYouMean(precision, {"float32", "bfloat16"})));
}

absl::Status UseBfloat16Products(Graph* graph) {
  for (Node* node : graph->nodes()) {
    if (IsFloatProduct(*node)) RETURN_IF_ERROR(Replace(graph, node));
  }
  return absl::OkStatus();
}

}  // namespace tessera

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

// Puts a cast that has the product's name in its place, behind a product of `dtype`.
absl::Status Replace(DType dtype, Graph* graph, Node* node) {
  const std::string name = node->name();
  const std::string device = node->device();
  std::vector<Endpoint> inputs;
  for (int i = 0; i < node->num_inputs(); ++i) {
    const std::string cast =
        graph->UniqueName(absl::StrCat(name, "/", DTypeName(dtype), "/input_", i));
    ASSIGN_OR_RETURN(Node* const input, AddCast(graph, cast, node->input(i), dtype, device));
    inputs.push_back({input, 0});
  }
  AttrMap attrs = node->attrs();
  attrs["T"] = dtype;
  ASSIGN_OR_RETURN(Node* const product,
                   graph->AddNode(graph->UniqueName(absl::StrCat(name, "/", DTypeName(dtype))),
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

absl::StatusOr<DType> ProductDType(const std::string& precision) {
  if (precision.empty() || precision == "float32") return DType::kFloat;
  if (precision == "bfloat16") return DType::kBfloat16;
  if (precision == "float16") return DType::kHalf;
  return absl::InvalidArgumentError(
      absl::StrCat("precision is '", precision, "', which is none of float32, bfloat16 and float16",
                   DidYouMean(precision, {"float32", "bfloat16", "float16"})));
}

absl::Status UseProductsOf(DType dtype, Graph* graph) {
  if (dtype == DType::kFloat) return absl::OkStatus();
  for (Node* node : graph->nodes()) {
    if (IsFloatProduct(*node)) RETURN_IF_ERROR(Replace(dtype, graph, node));
  }
  return absl::OkStatus();
}

absl::Status CheckOwnGradients(const ProgramOptions& options, absl::string_view what) {
  ASSIGN_OR_RETURN(const DType dtype, ProductDType(options.precision));
  const char* const refused = dtype != DType::kFloat   ? "precision"
                              : options.accumulate > 1 ? "accumulate"
                              : options.scales_loss    ? "loss_scale"
                                                       : nullptr;
  if (refused == nullptr) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(refused, " is for graphs to which gradients are added; ", what));
}

}  // namespace tessera

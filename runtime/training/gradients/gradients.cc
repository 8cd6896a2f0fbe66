#include "runtime/training/gradients/gradients.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/training/gradients/differentiation.h"

namespace tessera {
namespace {

absl::Status CheckEnd(const Graph& graph, const Endpoint& end, absl::string_view what, size_t i) {
  const bool known = end.node != nullptr && end.node->id() < graph.id_bound() &&
                     graph.node(end.node->id()) == end.node && end.index >= 0 &&
                     end.index < end.node->num_outputs();
  if (!known) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, "[", i, "] is no output of a node of the graph"));
  }
  return absl::OkStatus();
}

absl::Status CheckEnds(const Graph& graph, const std::vector<Endpoint>& ends,
                       absl::string_view what) {
  for (size_t i = 0; i < ends.size(); ++i) {
    RETURN_IF_ERROR(CheckEnd(graph, ends[i], what, i));
    const DType dtype = ends[i].node->output_type(ends[i].index);
    if (!HasGradients(dtype)) {
      return absl::InvalidArgumentError(absl::StrCat(
          what, "[", i, "], '", TensorName(ends[i]), "', is ", DTypeName(dtype),
          "; gradients exist for complex dtypes and floating ones of 16 bits and more"));
    }
  }
  return absl::OkStatus();
}

// Returns the first of prefix, prefix_1, prefix_2, ... with which no name of a node starts.
std::string UnusedPrefix(const Graph& graph, const std::string& prefix) {
  const std::vector<Node*> nodes = graph.nodes();
  std::string candidate = prefix;
  for (int i = 1;; ++i) {
    const std::string start = absl::StrCat(candidate, "/");
    if (std::none_of(nodes.begin(), nodes.end(),
                     [&](const Node* node) { return absl::StartsWith(node->name(), start); })) {
      return candidate;
    }
    candidate = absl::StrCat(prefix, "_", i);
  }
}

// The gradient that comes in for a y: what the caller gives, or ones.
absl::StatusOr<Gradient> IncomingGradient(GraphBuilder& build, const Endpoint& y,
                                          const Endpoint& given) {
  if (given.node == nullptr) {
    const DType dtype = build.Of(y).dtype();
    if (dtype == DType::kVariant || dtype == DType::kResource) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", TensorName(y), "' is ", DTypeName(dtype),
                       ", so that there must be a gradient for it in grad_ys"));
    }
    return Gradient{.values = OnesLike(build.Of(y)).endpoint()};
  }
  if (build.Of(given).dtype() != build.Of(y).dtype()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", TensorName(given), "' is ", DTypeName(build.Of(given).dtype()), ", but '",
        TensorName(y), "', whose gradient it is, is ", DTypeName(build.Of(y).dtype())));
  }
  return Gradient{.values = given};
}

// Returns the shape of the gradient with respect to `x` as a value of the dtype that it has.
Expr ZeroGradient(GraphBuilder& build, const Endpoint& x) {
  const Expr value = build.Of(x);
  if (value.dtype() != DType::kResource) return ZerosLike(value);
  const auto dtype = x.node->attr<DType>("dtype");
  if (!dtype.ok()) {
    build.Fail(absl::InvalidArgumentError(
        absl::StrCat("'", TensorName(x), "' is no handle whose variable's dtype is known")));
    return Expr();
  }
  return Call("Fill", {Call("VariableShape", {value}), build.Scalar(*dtype, 0)});
}

}  // namespace

bool HasGradients(DType dtype) {
  switch (RemoveRef(dtype)) {
    case DType::kHalf:
    case DType::kBfloat16:
    case DType::kFloat:
    case DType::kDouble:
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kResource:
    case DType::kVariant:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<std::vector<Gradient>> AddGradients(Graph* graph, const std::vector<Endpoint>& ys,
                                                   const std::vector<Endpoint>& xs,
                                                   const std::vector<Endpoint>& grad_ys,
                                                   const GradientOptions& options) {
  RETURN_IF_ERROR(CheckEnds(*graph, ys, "ys"));
  RETURN_IF_ERROR(CheckEnds(*graph, xs, "xs"));
  for (size_t i = 0; i < options.stop_gradients.size(); ++i) {
    RETURN_IF_ERROR(CheckEnd(*graph, options.stop_gradients[i], "stop_gradients", i));
  }
  if (!grad_ys.empty() && grad_ys.size() != ys.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", ys.size(), " ys, but ", grad_ys.size(), " grad_ys"));
  }
  for (size_t i = 0; i < grad_ys.size(); ++i) {
    if (grad_ys[i].node != nullptr) RETURN_IF_ERROR(CheckEnd(*graph, grad_ys[i], "grad_ys", i));
  }

  ASSIGN_OR_RETURN(
      const std::unique_ptr<Differentiation> differentiation,
      Differentiation::Create(graph, UnusedPrefix(*graph, options.name), options.recompute));
  GraphBuilder& build = differentiation->backward();
  const int first_id = graph->id_bound();
  DifferentiatedRegion region = {.ys = ys, .xs = xs, .stops = options.stop_gradients};
  for (size_t i = 0; i < ys.size(); ++i) {
    const Endpoint given = grad_ys.empty() ? Endpoint() : grad_ys[i];
    ASSIGN_OR_RETURN(Gradient incoming, IncomingGradient(build, ys[i], given));
    region.grad_ys.push_back(incoming);
  }
  ASSIGN_OR_RETURN(std::vector<Gradient> gradients, differentiation->Run(region));
  RETURN_IF_ERROR(differentiation->SettleForwardValues(first_id));
  if (options.unconnected == UnconnectedGradients::kZero) {
    for (size_t i = 0; i < xs.size(); ++i) {
      if (gradients[i].is_none()) gradients[i].values = ZeroGradient(build, xs[i]).endpoint();
    }
  }
  RETURN_IF_ERROR(build.status());
  RETURN_IF_ERROR(differentiation->forward().status());
  return gradients;
}

absl::StatusOr<Endpoint> AddDenseGradient(Graph* graph, const Gradient& gradient) {
  if (gradient.is_none()) return absl::InvalidArgumentError("there is no gradient");
  GraphBuilder build(graph, absl::StrCat(gradient.values.node->name(), "/dense"));
  const Expr dense = DenseGradient(build, gradient);
  RETURN_IF_ERROR(build.status());
  return dense.endpoint();
}

}  // namespace tessera

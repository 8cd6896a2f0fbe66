#include "runtime/training/job/nan_locator.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/session/saved_model_graph.h"
#include "runtime/training/job/batch_feeds.h"
#include "runtime/training/job/floating_elements.h"

namespace tessera {
namespace {

// Returns the index of the first element that is not finite; nullopt if there is none.
std::optional<int64_t> FirstNonFinite(const Tensor& tensor) {
  std::optional<int64_t> first;
  VisitFloatingElements(tensor, [&](auto elements) {
    for (size_t i = 0; i < elements.size() && !first.has_value(); ++i) {
      if (!std::isfinite(static_cast<double>(elements[i]))) first = static_cast<int64_t>(i);
    }
  });
  return first;
}

// Returns the floating-point outputs, in the order of computation, of the nodes that depend on the
// fed placeholders and on no other ones.
absl::StatusOr<std::vector<Endpoint>> ComputedFrom(const Graph& graph,
                                                   const absl::flat_hash_set<std::string>& fed) {
  ASSIGN_OR_RETURN(const std::vector<Node*> order, TopologicalOrder(graph));
  struct Dependence {
    bool on_fed = false;
    bool on_unfed = false;
  };
  absl::flat_hash_map<const Node*, Dependence> dependences;
  std::vector<Endpoint> outputs;
  for (Node* node : order) {
    Dependence& own = dependences[node];
    if (node->IsOp("Placeholder")) {
      (fed.contains(node->name()) ? own.on_fed : own.on_unfed) = true;
      continue;
    }
    Dependence sum;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Dependence& input = dependences[node->input(i).node];
      sum.on_fed |= input.on_fed;
      sum.on_unfed |= input.on_unfed;
    }
    dependences[node] = sum;
    if (!sum.on_fed || sum.on_unfed) continue;
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (IsFloating(node->output_type(i))) outputs.push_back({node, i});
    }
  }
  return outputs;
}

}  // namespace

absl::Status NanLocator::BeforeStep(int64_t /*step*/) {
  std::vector<std::string> reads;
  for (const StateVariable& variable : program_->variables) reads.push_back(variable.read);
  // The step writes in place what nobody else holds, and copies these.
  variables_.clear();
  return program_->session->Run({}, reads, {}, &variables_);
}

absl::StatusOr<std::string> NanLocator::Locate(const std::vector<Tensor>& batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto element = FirstNonFinite(batch[i]);
    if (!element) continue;
    const int64_t row_size = batch[i].num_elements() / std::max<int64_t>(RowsOf(batch), 1);
    return absl::StrCat("the field '", fields_[i].name, "' of the batch is not finite in row ",
                        *element / std::max<int64_t>(row_size, 1));
  }
  std::vector<NamedTensor> feeds;
  std::vector<std::string> targets;
  for (size_t i = 0; i < variables_.size(); ++i) {
    const StateVariable& variable = program_->variables[i];
    if (FirstNonFinite(variables_[i])) {
      return absl::StrCat("the variable '", variable.name,
                          "' was not finite before the step: an earlier update made it so");
    }
    feeds.emplace_back(variable.value, variables_[i]);
    targets.push_back(variable.assign);
  }
  RETURN_IF_ERROR(program_->session->Run(feeds, {}, targets, nullptr));
  if (program_->graph != nullptr) return LocateInGraph(batch);
  return "batch and variables were finite, so it comes from an op of the train signature";
}

absl::StatusOr<std::string> NanLocator::LocateInGraph(const std::vector<Tensor>& batch) {
  ASSIGN_OR_RETURN(const std::vector<int> fields, MatchFields(program_->inputs, fields_));
  std::vector<NamedTensor> feeds = program_->constants;
  absl::flat_hash_set<std::string> fed;
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::string& tensor = program_->inputs[i].tensor;
    feeds.emplace_back(tensor, batch[fields[i]]);
    fed.insert(NodeOf(tensor));
  }
  ASSIGN_OR_RETURN(const std::vector<Endpoint> outputs, ComputedFrom(*program_->graph, fed));
  std::vector<std::string> names;
  for (const Endpoint& output : outputs) names.push_back(TensorName(output));
  std::vector<Tensor> values;
  RETURN_IF_ERROR(program_->session->Run(feeds, names, {}, &values));
  for (size_t i = 0; i < values.size(); ++i) {
    if (!FirstNonFinite(values[i])) continue;
    return absl::StrCat("the first op whose output is not finite is ", outputs[i].node->op_name(),
                        ", node '", outputs[i].node->name(), "'");
  }
  return absl::StrCat(
      "all ops of the forward graph give finite numbers, so it comes from the loss '",
      program_->loss, "'");
}

}  // namespace tessera

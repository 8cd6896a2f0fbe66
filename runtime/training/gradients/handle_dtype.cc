#include "runtime/training/gradients/handle_dtype.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/graph/control_flow_nodes.h"
#include "runtime/graph/function.h"
#include "runtime/graph/function_calls.h"

namespace tessera {
namespace {

// Follows a handle to the ops that use it, into functions as well.
class HandleUsers {
 public:
  // Returns the dtype of the first user that tells.
  std::optional<DType> FindDType(const Graph& graph, const Endpoint& handle) {
    std::vector<Endpoint> passing = {handle};
    for (size_t i = 0; i < passing.size(); ++i) {
      const Endpoint from = passing[i];
      for (const Use& use : from.node->uses(from.index)) {
        const auto dtype = use.node->attr<DType>("dtype");
        if (dtype.ok()) return *dtype;
        if (const auto found = FindInCalls(graph, use)) return found;
        for (int output = 0; output < use.node->num_outputs(); ++output) {
          const Endpoint next{use.node, output};
          if (use.node->output_type(output) == DType::kResource &&
              std::find(passing.begin(), passing.end(), next) == passing.end()) {
            passing.push_back(next);
          }
        }
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<DType> FindInCalls(const Graph& graph, const Use& use) {
    const FunctionCalls calls = CallsOf(graph, *use.node);
    const int arg = use.index - calls.first_arg;
    if (graph.library() == nullptr || arg < 0) return std::nullopt;
    for (const FunctionRef& function : calls.functions) {
      if (!visited_.emplace(function.name, arg).second) continue;
      // A function that cannot be built is an error of who calls it.
      const auto body = graph.library()->Instantiate(function);
      if (!body.ok() || arg >= static_cast<int>(body->args.size())) continue;
      if (const auto found = FindDType(*body->graph, {body->args[arg], 0})) return found;
    }
    return std::nullopt;
  }

  std::set<std::pair<std::string, int>> visited_;  // functions, and the argument that is the handle
};

}  // namespace

absl::StatusOr<DType> DTypeOfHandle(const Graph& graph, const Endpoint& handle) {
  Endpoint made = handle;
  while (made.node != nullptr &&
         (IsEnter(*made.node) || IsSwitch(*made.node) || made.node->IsOp("Identity"))) {
    made = made.node->input(0);
  }
  if (made.node != nullptr) {
    const auto dtype = made.node->attr<DType>("dtype");
    if (dtype.ok()) return *dtype;
    if (const auto found = HandleUsers().FindDType(graph, made)) return *found;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the dtype of the variable whose handle is '", TensorName(handle),
      "' is not known: no op that makes, reads or writes it has an attribute 'dtype'"));
}

}  // namespace tessera

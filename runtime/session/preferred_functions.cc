#include "runtime/session/preferred_functions.h"

#include <string>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/graph.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace tessera {
namespace {

constexpr absl::string_view kImplements = "api_implements";
constexpr absl::string_view kDevice = "api_preferred_device";

absl::string_view AttrOf(const tensorflow::FunctionDef& function, absl::string_view name) {
  const auto found = function.attr().find(std::string(name));
  return found == function.attr().end() ? absl::string_view() : found->second.s();
}

bool IsOfGradient(const tensorflow::FunctionDef& function) {
  return !AttrOf(function, "forward_function_name").empty() ||
         !AttrOf(function, "backward_function_name").empty();
}

bool HaveSameTypes(const tensorflow::OpDef& a, const tensorflow::OpDef& b) {
  constexpr auto are_equal = [](const tensorflow::OpDef::ArgDef& x,
                                const tensorflow::OpDef::ArgDef& y) {
    return x.type() == y.type() && x.type_attr() == y.type_attr() &&
           x.number_attr() == y.number_attr() && x.type_list_attr() == y.type_list_attr();
  };
  return absl::c_equal(a.input_arg(), b.input_arg(), are_equal) &&
         absl::c_equal(a.output_arg(), b.output_arg(), are_equal);
}

// Returns the functions to call for others, by the names of these.
absl::flat_hash_map<std::string, std::string> Substitutes(
    const tensorflow::FunctionDefLibrary& library) {
  absl::flat_hash_map<absl::string_view, const tensorflow::FunctionDef*> preferred;
  for (const tensorflow::FunctionDef& function : library.function()) {
    const absl::string_view implements = AttrOf(function, kImplements);
    if (!implements.empty() && AttrOf(function, kDevice) == "CPU" && !IsOfGradient(function)) {
      preferred.emplace(implements, &function);
    }
  }
  absl::flat_hash_map<std::string, std::string> substitutes;
  for (const tensorflow::FunctionDef& function : library.function()) {
    const auto found = preferred.find(AttrOf(function, kImplements));
    if (found != preferred.end() && !IsOfGradient(function) && AttrOf(function, kDevice) != "CPU" &&
        HaveSameTypes(function.signature(), found->second->signature())) {
      substitutes.emplace(function.signature().name(), found->second->signature().name());
    }
  }
  return substitutes;
}

}  // namespace

bool HasPreferredFunctions(const tensorflow::GraphDef& graph_def) {
  return absl::c_any_of(graph_def.library().function(),
                        [](const auto& function) { return !AttrOf(function, kDevice).empty(); });
}

void CallPreferredFunctions(tensorflow::GraphDef* graph_def) {
  if (!HasPreferredFunctions(*graph_def)) return;
  const auto substitutes = Substitutes(graph_def->library());
  const auto substitute = [&](tensorflow::NodeDef& node) {
    if (node.op() != "PartitionedCall" && node.op() != "StatefulPartitionedCall") return;
    std::string* const name = (*node.mutable_attr())["f"].mutable_func()->mutable_name();
    if (auto found = substitutes.find(*name); found != substitutes.end()) *name = found->second;
  };
  absl::c_for_each(*graph_def->mutable_node(), substitute);
  for (tensorflow::FunctionDef& function : *graph_def->mutable_library()->mutable_function()) {
    absl::c_for_each(*function.mutable_node_def(), substitute);
  }
}

}  // namespace tessera

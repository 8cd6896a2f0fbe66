// Which runs of a graph do the same.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace tensorflow {
class FunctionDef;
class GraphDef;
class NodeDef;
}  // namespace tensorflow

namespace tessera {

struct RunSignature;

//   RunForms forms(graph_def);
//   if (forms.FormOf(a) == forms.FormOf(b)) ...  // feed i of one is feed i of the other, and so on
//
// A form tells what a run computes from its feeds, leaving out how nodes and functions are called:
// equal forms, equal results. Equal runs may have different forms. Writers of SavedModels often
// give one function several signatures, each with a placeholder and a wrapper of its own.
//
// Nodes that have state keep their names in it. Nodes inside functions that differ in nothing but
// their functions' names count as the same, though each draws random numbers of its own, say: ask
// PureRuns first. Views the graph, which must outlive this. Not thread-safe.
class RunForms {
 public:
  explicit RunForms(const tensorflow::GraphDef& graph);

  // Empty if the run names nodes that the graph lacks, or feeds a tensor twice.
  std::string FormOf(const RunSignature& run);

 private:
  class Walk;

  // Of a function: the same for those that are declared alike but for their names.
  std::string FunctionForm(const std::string& name);
  std::string NodeForm(const tensorflow::NodeDef& node);

  absl::flat_hash_map<absl::string_view, const tensorflow::NodeDef*> nodes_;
  absl::flat_hash_map<absl::string_view, const tensorflow::FunctionDef*> functions_;
  absl::flat_hash_map<std::string, std::string> function_forms_;  // by name
  absl::flat_hash_map<std::string, size_t> function_ids_;         // by definition without name
};

}  // namespace tessera

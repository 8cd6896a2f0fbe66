// Finds the variables that runs of some graphs may write.
#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Follows the handles of variables, and references to them, through graphs and the functions that
// they call. A variable counts as written if its handle flows into an argument that the op does not
// declare to read, forward, route or pass on to functions (see ArgUse).
//
//   VariableWrites writes;
//   RETURN_IF_ERROR(writes.Add(*pruned.graph));
//   if (!writes.MayWrite(*variable)) ...  // no run of these graphs changes its value
//
// Calls of const members are thread-safe; all others are not.
class VariableWrites {
 public:
  // Adds the variables that runs of `graph` may write.
  // Errors: those of FunctionLibrary::Instantiate(); RESOURCE_EXHAUSTED for calls nested too deep.
  absl::Status Add(const Graph& graph);
  // `variable` is a VarHandleOp, VariableV2 or Variable node of any graph or function.
  bool MayWrite(const Node& variable) const;

 private:
  // The resources, by name (resource_names.h), that a handle may name. An argument of the function
  // at hand is "arg N", which is the name of no resource.
  using Sources = std::set<std::string>;
  // The effect of a function on its arguments.
  struct Summary {
    bool is_done = false;
    std::set<int> written_args;
    std::vector<Sources> results;  // the variables and arguments that flow into each result
  };

  absl::Status Follow(const Graph& graph, std::set<int>* written_args,
                      std::vector<Sources>* results);
  absl::Status FollowNode(const Graph& graph, const Node& node,
                          std::map<std::pair<const Node*, int>, Sources>* flow,
                          std::set<int>* written_args, bool* changed);
  absl::StatusOr<const Summary*> Summarize(const FunctionLibrary& library, const FunctionRef& ref);
  void Write(const Sources& sources, std::set<int>* written_args);

  std::set<std::string> written_;
  std::map<std::string, Summary> summaries_;  // by function and attributes
  int depth_ = 0;                             // the number of calls that are being followed
};

}  // namespace tessera

// Which variables runs of some graphs may write.
#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "runtime/graph/graph.h"

namespace tessera {

// Follows the handles of variables, and references to them, through graphs and the functions they
// call. What flows into anything but a known reader counts as written.
//
//   VariableWrites writes;
//   RETURN_IF_ERROR(writes.Add(*pruned.graph));
//   if (!writes.MayWrite(*variable)) ...  // its value is the same for good, as far as these go
//
// Not thread-safe; const calls are.
class VariableWrites {
 public:
  // Adds what runs of `graph` may write. Errors: those of FunctionLibrary::Instantiate();
  // RESOURCE_EXHAUSTED for functions that call each other too deep.
  absl::Status Add(const Graph& graph);
  // For a VarHandleOp, VariableV2 or Variable node of any graph or function.
  bool MayWrite(const Node& variable) const { return written_.count(IdOf(variable)) > 0; }

 private:
  // Variables by id, and arguments of the function at hand by "arg N", which ids never are.
  using Sources = std::set<std::string>;
  // What a function does with its arguments.
  struct Summary {
    bool is_done = false;
    std::set<int> written_args;
    std::vector<Sources> results;  // what flows into each: variables and arguments
  };

  static std::string IdOf(const Node& variable);
  absl::Status Follow(const Graph& graph, std::set<int>* written_args,
                      std::vector<Sources>* results);
  absl::Status FollowNode(const Graph& graph, const Node& node,
                          std::map<std::pair<const Node*, int>, Sources>* flow,
                          std::set<int>* written_args, bool* changed);
  absl::StatusOr<const Summary*> Summarize(const FunctionLibrary& library, const FunctionRef& ref);
  void Write(const Sources& sources, std::set<int>* written_args);

  std::set<std::string> written_;
  std::map<std::string, Summary> summaries_;  // by function and attributes
  int depth_ = 0;                             // of functions that are being followed
};

}  // namespace tessera

// Graph passes: each one file, each correct on its own, each can be switched off by its name.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/thread_pool.h"
#include "runtime/framework/kernel.h"
#include "runtime/graph/graph.h"

namespace tessera {

// What a pass works on: a pruned graph with `_Arg` and `_Retval` nodes.
struct OptimizationItem {
  Graph* graph = nullptr;
  // Nodes that must stay, with their names and side effects: args, results, targets. A call among
  // them may be replaced, here too, by a NoOp of its name that waits for what the call did.
  std::vector<Node*> preserved;
  // Where the nodes are: each names one of these, or none if there is but one. A CPU is among them.
  std::vector<Device*> devices;
  // For arithmetic on large constants. Null: the calling thread does all of it.
  ThreadPool* pool = nullptr;

  // For freezing variables: where their values are. Null: none is frozen.
  ResourceManager* resources = nullptr;
  // Says of a VarHandleOp, VariableV2 or Variable node whether its value will never change again:
  // whether no run of this model, of any signature or function, can write it. Null: none is frozen.
  std::function<bool(const Node& variable)> is_frozen;

  // The first CPU, which folds constants wherever their users are. Requires that there is one.
  Device* host() const;
  // True if the device of `node` has a kernel of another op, which is to take the node's place.
  bool HasKernel(absl::string_view op, const Node& node) const {
    return HasKernel(op, node, AttrMap());
  }
  // The same for a kernel that takes these attributes, which must be complete.
  bool HasKernel(absl::string_view op, const Node& node, const AttrMap& attrs) const;
  bool IsPreserved(const Node* node) const {
    return std::find(preserved.begin(), preserved.end(), node) != preserved.end();
  }
};

// Rewrites a graph into one that gives the same results. Stateless; thread-safe.
class Pass {
 public:
  virtual ~Pass() = default;
  virtual absl::string_view name() const = 0;
  // *changed is set if the graph was changed. On an error the graph is usable, and gives the same
  // results as before.
  virtual absl::Status Run(OptimizationItem& item, bool* changed) const = 0;
};

struct OptimizeOptions {
  std::vector<std::string> disabled_passes;  // by name; --disable_pass
  int max_rounds = 3;
};

// Runs the standard passes in order, round by round until nothing changes, and finally drops what
// nothing preserved needs. A pass that fails with an error leaves the graph usable; the error ends
// optimisation and is returned.
// Errors: INVALID_ARGUMENT for a name in disabled_passes that no pass has; those of passes.
absl::Status Optimize(OptimizationItem& item, const OptimizeOptions& options);
// Names of the standard passes in order.
std::vector<std::string> StandardPassNames();

}  // namespace tessera

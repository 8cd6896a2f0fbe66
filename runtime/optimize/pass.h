// The interface of a graph pass, and what a pass works on.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/base/thread_pool.h"
#include "runtime/framework/kernel.h"
#include "runtime/graph/graph.h"

namespace tessera {

// A graph to optimize: it has been pruned, and has `_Arg` and `_Retval` nodes.
struct OptimizationItem {
  Graph* graph = nullptr;
  // Nodes that must stay, with their names and side effects: arguments, results and targets. A pass
  // may replace a call among them by a NoOp of the same name that waits for the side effects of the
  // call; it then replaces the entry here as well.
  std::vector<Node*> preserved;
  // The devices of the session, a CPU among them. Each node names one of them, or none where there
  // is but one.
  std::vector<Device*> devices;
  // Threads for arithmetic on large constants. If null, the calling thread does all of it.
  ThreadPool* pool = nullptr;

  // The resources that hold the values of variables. If null, no variable is frozen.
  ResourceManager* resources = nullptr;
  // Returns whether the value of a VarHandleOp, VariableV2 or Variable node will never change
  // again, because no signature and no function of the model can write it. If null, no variable is
  // frozen.
  std::function<bool(const Node& variable)> is_frozen;

  // Returns the first CPU. It folds constants, also those whose users run elsewhere.
  Device* host() const;
  // Returns whether the device of `node` has a kernel of `op`, for passes that want to replace the
  // node by one of that op.
  bool HasKernel(absl::string_view op, const Node& node) const {
    return HasKernel(op, node, AttrMap());
  }
  // The same for a kernel that takes these attributes, which must be complete.
  bool HasKernel(absl::string_view op, const Node& node, const AttrMap& attrs) const;
  bool IsPreserved(const Node* node) const {
    return std::find(preserved.begin(), preserved.end(), node) != preserved.end();
  }
};

// Rewrites a graph into one that gives the same results. Each pass is correct by itself, so that
// any of them can be left out. Stateless and thread-safe.
class Pass {
 public:
  virtual ~Pass() = default;
  // The name that --disable_pass takes.
  virtual absl::string_view name() const = 0;
  // Sets *changed if it changed the graph; never clears it. A pass that returns an error leaves a
  // valid graph that gives the same results as before.
  virtual absl::Status Run(OptimizationItem& item, bool* changed) const = 0;
};

using PassList = std::vector<std::unique_ptr<Pass>>;

}  // namespace tessera

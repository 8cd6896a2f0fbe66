// Runs passes over a graph.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/optimize/pass.h"

namespace tessera {

struct OptimizeOptions {
  // Names of passes to leave out; --disable_pass.
  std::vector<std::string> disabled_passes;
  // Passes make work for one another, so that the list is run again until nothing changes, but no
  // more often than this.
  int max_rounds = 3;
};

// Runs the standard passes (standard_passes.h) in their order, round by round until nothing
// changes, then the final ones once, and drops the nodes that nothing preserved needs. A pass that
// fails is named in a warning and left out from then on; the other passes run as usual. Errors:
// INVALID_ARGUMENT for a name in disabled_passes that no pass has; the graph is then unchanged.
absl::Status Optimize(OptimizationItem& item, const OptimizeOptions& options);

// Runs `passes` in the same way, without those that `options` disables.
void RunPasses(const PassList& passes, OptimizationItem& item, const OptimizeOptions& options);

}  // namespace tessera

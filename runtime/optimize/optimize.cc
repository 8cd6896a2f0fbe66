#include "runtime/optimize/optimize.h"

#include <algorithm>

#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/optimize/standard_passes.h"

namespace tessera {

void RunPasses(const PassList& passes, OptimizationItem& item, const OptimizeOptions& options) {
  const std::vector<std::string>& disabled = options.disabled_passes;
  std::vector<const Pass*> active;
  for (const auto& pass : passes) {
    if (std::find(disabled.begin(), disabled.end(), pass->name()) == disabled.end()) {
      active.push_back(pass.get());
    }
  }
  bool changed = true;
  for (int round = 0; round < options.max_rounds && changed; ++round) {
    changed = false;
    for (auto pass = active.begin(); pass != active.end();) {
      const absl::Status status = (*pass)->Run(item, &changed);
      RemoveAllBut(item.graph, item.preserved);
      if (status.ok()) {
        ++pass;
        continue;
      }
      LOG(WARNING) << "optimization pass '" << (*pass)->name()
                   << "' failed and is left out for this graph: " << status;
      pass = active.erase(pass);
    }
  }
}

absl::Status Optimize(OptimizationItem& item, const OptimizeOptions& options) {
  RETURN_IF_ERROR(CheckPassNames(options.disabled_passes));
  RunPasses(StandardPasses(), item, options);
  RunPasses(FinalPasses(), item, {.disabled_passes = options.disabled_passes, .max_rounds = 1});
  return absl::OkStatus();
}

}  // namespace tessera

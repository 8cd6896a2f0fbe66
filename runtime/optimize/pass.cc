#include "runtime/optimize/pass.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/optimize/fold_batch_norm.h"
#include "runtime/optimize/fold_constants.h"
#include "runtime/optimize/freeze_variables.h"
#include "runtime/optimize/fuse_post_ops.h"
#include "runtime/optimize/inline_functions.h"
#include "runtime/optimize/merge_duplicates.h"
#include "runtime/optimize/prune_control_edges.h"
#include "runtime/optimize/remove_no_ops.h"

namespace tessera {
namespace {

using Passes = std::vector<std::unique_ptr<Pass>>;

const Passes& StandardPasses() {
  static const Passes* const kPasses = [] {
    auto* passes = new Passes;
    // Calls first: the other passes see only what is inlined. Folding turns frozen variables'
    // arithmetic into the constants that the last two look for.
    passes->push_back(std::make_unique<InlineFunctionsPass>());
    passes->push_back(std::make_unique<FreezeVariablesPass>());
    passes->push_back(std::make_unique<PruneControlEdgesPass>());
    passes->push_back(std::make_unique<RemoveNoOpsPass>());
    passes->push_back(std::make_unique<FoldConstantsPass>());
    passes->push_back(std::make_unique<MergeDuplicatesPass>());
    passes->push_back(std::make_unique<FoldBatchNormPass>());
    passes->push_back(std::make_unique<FusePostOpsPass>());
    return passes;
  }();
  return *kPasses;
}

absl::Status CheckNames(const std::vector<std::string>& disabled) {
  const std::vector<std::string> known = StandardPassNames();
  for (const std::string& name : disabled) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there is no pass '", name, "' to disable; there are: ", absl::StrJoin(known, ", ")));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Optimize(OptimizationItem& item, const OptimizeOptions& options) {
  const std::vector<std::string>& disabled = options.disabled_passes;
  RETURN_IF_ERROR(CheckNames(disabled));
  bool changed = true;
  for (int round = 0; round < options.max_rounds && changed; ++round) {
    changed = false;
    for (const auto& pass : StandardPasses()) {
      if (std::find(disabled.begin(), disabled.end(), pass->name()) != disabled.end()) continue;
      if (absl::Status status = pass->Run(item, &changed); !status.ok()) {
        return Annotate(status, absl::StrCat("pass '", pass->name(), "': "));
      }
      RemoveAllBut(item.graph, item.preserved);
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> StandardPassNames() {
  std::vector<std::string> names;
  for (const auto& pass : StandardPasses()) names.emplace_back(pass->name());
  return names;
}

}  // namespace tessera

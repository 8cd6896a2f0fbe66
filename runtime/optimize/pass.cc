#include "runtime/optimize/pass.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/graph/graph_algorithms.h"
#include "runtime/optimize/absorb_scales.h"
#include "runtime/optimize/fold_batch_norm.h"
#include "runtime/optimize/fold_constants.h"
#include "runtime/optimize/fold_pad.h"
#include "runtime/optimize/freeze_variables.h"
#include "runtime/optimize/fuse_attention.h"
#include "runtime/optimize/fuse_embedding.h"
#include "runtime/optimize/fuse_gelu.h"
#include "runtime/optimize/fuse_layer_norm.h"
#include "runtime/optimize/fuse_post_ops.h"
#include "runtime/optimize/fuse_residual.h"
#include "runtime/optimize/fuse_separable_block.h"
#include "runtime/optimize/hoist_reshapes.h"
#include "runtime/optimize/inline_functions.h"
#include "runtime/optimize/merge_biases.h"
#include "runtime/optimize/merge_duplicates.h"
#include "runtime/optimize/pass_names.h"
#include "runtime/optimize/prune_control_edges.h"
#include "runtime/optimize/remove_no_ops.h"

namespace tessera {
namespace {

using Passes = std::vector<std::unique_ptr<Pass>>;

const Passes& StandardPasses() {
  static const Passes* const kPasses = [] {
    auto* passes = new Passes;
    // Calls first: the other passes see only what is inlined. Folding turns frozen variables'
    // arithmetic into the constants that those after it look for.
    passes->push_back(std::make_unique<InlineFunctionsPass>());
    passes->push_back(std::make_unique<FreezeVariablesPass>());
    passes->push_back(std::make_unique<PruneControlEdgesPass>());
    passes->push_back(std::make_unique<RemoveNoOpsPass>());
    passes->push_back(std::make_unique<FoldConstantsPass>());
    passes->push_back(std::make_unique<MergeDuplicatesPass>());
    passes->push_back(std::make_unique<FoldPadPass>());
    passes->push_back(std::make_unique<FoldBatchNormPass>());
    passes->push_back(std::make_unique<MergeBiasesPass>());
    // Larger patterns before fuse_post_ops takes pieces of them away.
    passes->push_back(std::make_unique<FuseGeluPass>());
    passes->push_back(std::make_unique<FuseEmbeddingPass>());
    passes->push_back(std::make_unique<FuseLayerNormPass>());
    passes->push_back(std::make_unique<FuseAttentionPass>());
    passes->push_back(std::make_unique<HoistReshapesPass>());
    passes->push_back(std::make_unique<FusePostOpsPass>());
    passes->push_back(std::make_unique<FuseResidualPass>());
    passes->push_back(std::make_unique<FuseSeparableBlockPass>());
    // Last: a scale in a convolution is in the way of what takes the convolution into more.
    passes->push_back(std::make_unique<AbsorbScalesPass>());
    return passes;
  }();
  return *kPasses;
}

}  // namespace

absl::Status CheckPassNames(const std::vector<std::string>& names) {
  const std::vector<std::string> known = StandardPassNames();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there is no pass '", name, "' to disable; there are: ", absl::StrJoin(known, ", ")));
    }
  }
  return absl::OkStatus();
}

absl::Status Optimize(OptimizationItem& item, const OptimizeOptions& options) {
  const std::vector<std::string>& disabled = options.disabled_passes;
  RETURN_IF_ERROR(CheckPassNames(disabled));
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

#include "runtime/optimize/standard_passes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/optimize/absorb_scales.h"
#include "runtime/optimize/fold_batch_norm.h"
#include "runtime/optimize/fold_constants.h"
#include "runtime/optimize/fold_pad.h"
#include "runtime/optimize/freeze_variables.h"
#include "runtime/optimize/fuse_attention.h"
#include "runtime/optimize/fuse_elementwise.h"
#include "runtime/optimize/fuse_embedding.h"
#include "runtime/optimize/fuse_gelu.h"
#include "runtime/optimize/fuse_layer_norm.h"
#include "runtime/optimize/fuse_post_ops.h"
#include "runtime/optimize/fuse_recurrence.h"
#include "runtime/optimize/fuse_recurrence_gradient.h"
#include "runtime/optimize/fuse_residual.h"
#include "runtime/optimize/fuse_separable_block.h"
#include "runtime/optimize/hoist_reshapes.h"
#include "runtime/optimize/hoist_slices.h"
#include "runtime/optimize/inline_functions.h"
#include "runtime/optimize/mark_element_functions.h"
#include "runtime/optimize/merge_biases.h"
#include "runtime/optimize/merge_duplicates.h"
#include "runtime/optimize/multiply_by_reciprocals.h"
#include "runtime/optimize/prune_control_edges.h"
#include "runtime/optimize/remove_no_ops.h"

namespace tessera {

const PassList& StandardPasses() {
  static const PassList* const kPasses = [] {
    auto* passes = new PassList;
    // Calls are inlined first, because the other passes do not look into functions. Folding turns
    // arithmetic on frozen variables into the constants that later passes look for.
    passes->push_back(std::make_unique<InlineFunctionsPass>());
    passes->push_back(std::make_unique<MarkElementFunctionsPass>());
    passes->push_back(std::make_unique<FreezeVariablesPass>());
    passes->push_back(std::make_unique<PruneControlEdgesPass>());
    passes->push_back(std::make_unique<RemoveNoOpsPass>());
    passes->push_back(std::make_unique<MultiplyByReciprocalsPass>());
    passes->push_back(std::make_unique<FoldConstantsPass>());
    passes->push_back(std::make_unique<MergeDuplicatesPass>());
    passes->push_back(std::make_unique<HoistSlicesPass>());
    passes->push_back(std::make_unique<FoldPadPass>());
    passes->push_back(std::make_unique<FoldBatchNormPass>());
    passes->push_back(std::make_unique<MergeBiasesPass>());
    // The larger patterns are matched before fuse_post_ops, which would take nodes out of them.
    passes->push_back(std::make_unique<FuseRecurrencePass>());
    passes->push_back(std::make_unique<FuseRecurrenceGradientPass>());
    passes->push_back(std::make_unique<FuseGeluPass>());
    passes->push_back(std::make_unique<FuseEmbeddingPass>());
    passes->push_back(std::make_unique<FuseLayerNormPass>());
    passes->push_back(std::make_unique<FuseAttentionPass>());
    passes->push_back(std::make_unique<HoistReshapesPass>());
    passes->push_back(std::make_unique<FusePostOpsPass>());
    passes->push_back(std::make_unique<FuseResidualPass>());
    passes->push_back(std::make_unique<FuseSeparableBlockPass>());
    // This pass is the last: no other pass fuses a convolution that scales its weights.
    passes->push_back(std::make_unique<AbsorbScalesPass>());
    return passes;
  }();
  return *kPasses;
}

const PassList& FinalPasses() {
  static const PassList* const kPasses = [] {
    auto* passes = new PassList;
    passes->push_back(std::make_unique<FuseElementwisePass>());
    return passes;
  }();
  return *kPasses;
}

std::vector<std::string> StandardPassNames() {
  std::vector<std::string> names;
  for (const auto& pass : StandardPasses()) names.emplace_back(pass->name());
  for (const auto& pass : FinalPasses()) names.emplace_back(pass->name());
  return names;
}

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

}  // namespace tessera

// Attention from its pieces becomes one node.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// softmax(scale * query * key^T + mask) * value, float, of rank 4: _Attention, which keeps the
// scores of a few queries in the cache instead of writing all of them out. The scale may be
// missing; masks may be none, or some that are added, and one by which SelectV2 or Select puts a
// number in the place of scores, also as Keras writes it, LogicalAnd(OnesLike(scores), mask). The
// products are Einsum in equations such as BTNH,BSNH->BNTS, or batched products of
// what a Transpose has brought into the order batch, heads, tokens; the Transposes vanish. Only
// where nobody else uses what lies between.
// Source: Vaswani et al., Attention Is All You Need, arXiv:1706.03762.
class FuseAttentionPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_attention"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

// Fuses the nodes of an attention layer into one node.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces softmax(scale * query * key^T + mask) * value, with rank 4, by _Attention, which keeps
// the scores of a few queries in the cache instead of writing all scores to memory.
// - Numbers are floats; or half or bfloat16, on devices whose _Attention takes them. Scores of
// these
//   may be cast to float before the softmax or the scale, and the weights back.
// - The scale is optional.
// - Any number of masks may be added to the scores. One more may select, by SelectV2 or Select, the
//   scores that are replaced by a constant, where the mask is false or where it is true; Keras
//   writes it as LogicalAnd(OnesLike(scores), mask).
// - The products are Einsum nodes with equations such as BTNH,BSNH->BNTS, or batched matrix
//   products. Where a Transpose brings an operand into the order batch, heads, tokens, it is
//   removed. Any other operand must be known to have rank 4 before the run, as keys with rotary
//   positions and those that are joined to a cache are.
// - The intermediate values have no other users, but that nodes may take the shape of the last
//   product.
// Source: Vaswani et al., Attention Is All You Need, arXiv:1706.03762.
class FuseAttentionPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_attention"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

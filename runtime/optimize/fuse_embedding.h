// Fuses embedding look-ups and the additions after them into one node.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// Replaces a float sum of rows that are looked up in constant matrices, possibly scaled by a
// constant, and of other values by _EmbeddingSum, which writes each row of the sum once. Language
// models add up the embeddings of words, segments and positions in this way. The intermediate
// values must have no other users, except that users of the shape of a look-up get it from the
// shape of the indices.
class FuseEmbeddingPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_embedding"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

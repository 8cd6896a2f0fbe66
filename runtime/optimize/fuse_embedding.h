// Embeddings, and what is added to them, become one node.
#pragma once

#include "runtime/optimize/pass.h"

namespace tessera {

// A sum of rows looked up in constant matrices, perhaps each times a constant, and of other values,
// float: _EmbeddingSum, which writes each row of the sum once. So are embeddings of words, segments
// and positions added up. Only where nobody else uses what lies between; users of a look-up's shape
// get it from its indices.
class FuseEmbeddingPass : public Pass {
 public:
  absl::string_view name() const override { return "fuse_embedding"; }
  absl::Status Run(OptimizationItem& item, bool* changed) const override;
};

}  // namespace tessera

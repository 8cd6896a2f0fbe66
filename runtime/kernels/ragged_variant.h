// A ragged tensor as the value of a variant: what map functions over ragged tensors pass around.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "runtime/tensor/variant.h"

namespace tessera {

// The row splits of the ragged dimensions, outermost first, and the values. Immutable once it is
// held by a Variant.
class RaggedVariant : public VariantValue {
 public:
  RaggedVariant(std::vector<Tensor> row_splits, Tensor flat_values)
      : splits(std::move(row_splits)), values(std::move(flat_values)) {}

  std::string TypeName() const override { return "RaggedTensorVariant"; }
  std::string DebugString() const override;
  std::shared_ptr<const EncodedVariant> Encode() const override;

  std::vector<Tensor> splits;
  Tensor values;
};

// Returns the ragged tensor that the variant holds, decoded if it came in a proto; null if the
// variant holds something else.
std::shared_ptr<const RaggedVariant> GetRaggedVariant(const Variant& variant);

}  // namespace tessera

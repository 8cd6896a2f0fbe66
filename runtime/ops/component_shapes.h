// Shape functions of the ops whose values are several tensors each: sparse and ragged ones, parts of
// a tensor, and the features of examples.
#pragma once

#include "runtime/framework/shape_inference.h"

namespace tessera {
namespace shape {

absl::Status SparseConcat(ShapeContext& c);
absl::Status SparseSplit(ShapeContext& c);
absl::Status DynamicPartition(ShapeContext& c);
absl::Status DynamicStitch(ShapeContext& c);
// Row splits, which are vectors, then values of unknown shape.
absl::Status RaggedOutput(ShapeContext& c);
absl::Status RaggedTensorToSparse(ShapeContext& c);
// ParseExample and its kin: sparse features by their three tensors, ragged ones by vectors; dense
// ones have their shape in an attribute where they are one for each example.
absl::Status ParsedExamples(ShapeContext& c);
// Values quantised together, with a minimum and a maximum.
absl::Status QuantizedConcat(ShapeContext& c);
absl::Status QuantizedBroadcast(ShapeContext& c);

}  // namespace shape
}  // namespace tessera

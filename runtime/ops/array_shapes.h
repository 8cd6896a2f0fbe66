// Shape functions of the ops that move elements.
#pragma once

#include "runtime/framework/shape_inference.h"

namespace tessera {
namespace shape {

absl::Status Const(ShapeContext& c);
absl::Status Reshape(ShapeContext& c);
absl::Status ExpandDims(ShapeContext& c);
absl::Status Squeeze(ShapeContext& c);
absl::Status Transpose(ShapeContext& c);
absl::Status EnsureShape(ShapeContext& c);
absl::Status Concat(ShapeContext& c);  // values, axis; or concat_dim, values
absl::Status ConcatOffset(ShapeContext& c);
absl::Status Pack(ShapeContext& c);
absl::Status Unpack(ShapeContext& c);
absl::Status Split(ShapeContext& c);
absl::Status SplitV(ShapeContext& c);
absl::Status Slice(ShapeContext& c);
absl::Status StridedSlice(ShapeContext& c);
absl::Status Pad(ShapeContext& c);  // Pad, PadV2, MirrorPad
absl::Status Tile(ShapeContext& c);
absl::Status Gather(ShapeContext& c);  // Gather, GatherV2
absl::Status GatherNd(ShapeContext& c);
absl::Status OneHot(ShapeContext& c);
absl::Status Bitcast(ShapeContext& c);
absl::Status SpaceToDepth(ShapeContext& c);  // and DepthToSpace
absl::Status MatrixDiag(ShapeContext& c);
absl::Status MatrixDiagPart(ShapeContext& c);
absl::Status BroadcastArgs(ShapeContext& c);

// Output 0 is the input at a position, read as a shape: Fill, BroadcastTo, ScatterNd.
absl::Status FromShapeInput0(ShapeContext& c);
absl::Status FromShapeInput1(ShapeContext& c);
absl::Status FromShapeInput2(ShapeContext& c);
// Every output like its input: IdentityN.
absl::Status SameAsInputs(ShapeContext& c);
// Every output a vector with as many elements as its input has dimensions: Shape, ShapeN.
absl::Status RankVectors(ShapeContext& c);
// Every output a vector of unknown length: ListDiff, BroadcastGradientArgs.
absl::Status UnknownVectors(ShapeContext& c);
// Where: [unknown, rank].
absl::Status Where(ShapeContext& c);
// Unique: unknown distinct elements, an index an element, counts.
absl::Status Unique(ShapeContext& c);

}  // namespace shape
}  // namespace tessera

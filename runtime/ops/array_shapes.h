// Shape functions of the ops that rearrange, select or join elements. Most are named after their op.
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
absl::Status Concat(ShapeContext& c);  // Concat and ConcatV2: the axis may be the first or last input
absl::Status ConcatOffset(ShapeContext& c);
absl::Status Pack(ShapeContext& c);
absl::Status Unpack(ShapeContext& c);
absl::Status Split(ShapeContext& c);
absl::Status SplitV(ShapeContext& c);
absl::Status Slice(ShapeContext& c);
absl::Status StridedSlice(ShapeContext& c);
absl::Status Pad(ShapeContext& c);  // Pad, PadV2 and MirrorPad
absl::Status Tile(ShapeContext& c);
absl::Status Gather(ShapeContext& c);  // Gather and GatherV2
absl::Status GatherNd(ShapeContext& c);
absl::Status OneHot(ShapeContext& c);
absl::Status Bitcast(ShapeContext& c);
absl::Status SpaceToDepth(ShapeContext& c);  // SpaceToDepth and DepthToSpace
absl::Status MatrixDiag(ShapeContext& c);
absl::Status MatrixDiagPart(ShapeContext& c);
absl::Status MatrixDiagV2(ShapeContext& c);      // of several diagonals, and later versions
absl::Status MatrixDiagPartV2(ShapeContext& c);  // likewise
absl::Status DiagPart(ShapeContext& c);
absl::Status SpaceToBatchND(ShapeContext& c);  // SpaceToBatchND and BatchToSpaceND
absl::Status UnravelIndex(ShapeContext& c);
absl::Status Range(ShapeContext& c);
absl::Status BroadcastArgs(ShapeContext& c);

// Output 0 has the shape that the elements of input 0 (1, 2) describe, as in Fill, BroadcastTo and
// ScatterNd.
absl::Status FromShapeInput0(ShapeContext& c);
absl::Status FromShapeInput1(ShapeContext& c);
absl::Status FromShapeInput2(ShapeContext& c);
// Every output has as many dimensions as input 0.
absl::Status SameRankAsFirstInput(ShapeContext& c);
// Output 0 has the shape of input 1, as in Assign and Select.
absl::Status SameAsSecondInput(ShapeContext& c);
// Output 0 is all inputs broadcast together, as in SelectV2.
absl::Status BroadcastAll(ShapeContext& c);
// Output i has shape i of attribute `output_shapes`, if that names one for each.
absl::Status OutputShapesAttr(ShapeContext& c);
// Output i has the shape of input i, as in IdentityN.
absl::Status SameAsInputs(ShapeContext& c);
// Output i is a vector with one element for each dimension of input i, as in Shape and ShapeN.
absl::Status RankVectors(ShapeContext& c);
// Every output is a vector of unknown length, as in ListDiff and BroadcastGradientArgs.
absl::Status UnknownVectors(ShapeContext& c);
// The output is a matrix with an unknown number of rows and a column for each dimension of the input.
absl::Status Where(ShapeContext& c);
// The distinct elements and their counts are of unknown number; there is one index for each element of
// the input.
absl::Status Unique(ShapeContext& c);

}  // namespace shape
}  // namespace tessera

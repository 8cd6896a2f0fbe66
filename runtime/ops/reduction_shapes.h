// Shape functions of the ops that reduce over an axis, over segments or into bins.
#pragma once

#include "runtime/framework/shape_inference.h"

namespace tessera {
namespace shape {

absl::Status ArgMax(ShapeContext& c);  // ArgMax and ArgMin
absl::Status DenseBincount(ShapeContext& c);
absl::Status SparseBincount(ShapeContext& c);
absl::Status UnsortedSegment(ShapeContext& c);  // reductions and joins of unsorted segments

}  // namespace shape
}  // namespace tessera

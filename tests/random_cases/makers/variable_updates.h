// Arguments of ops that read and change parts of a variable.
#pragma once

#include "runtime/framework/op.h"
#include "tests/random_cases/random.h"

namespace tessera {

// Indices into a variable, and the shape of what is written there.
struct UpdateRows {
  Tensor indices;  // int64
  Shape updates;
};

// Draws rows along the first dimension: a scalar, a vector or a matrix of indices. Requires a shape
// of at least one dimension.
UpdateRows DrawUpdateRows(Random& random, const Shape& shape);
// Draws positions of elements or of slices, as the ops on n-dimensional indices take them. Requires
// the same.
UpdateRows DrawUpdatePositions(Random& random, const Shape& shape);

// A strided slice, and the shape that it has.
struct SliceSteps {
  Tensor begin, end, strides;  // int64
  AttrMap masks;
  Shape shape;
};
SliceSteps DrawSlice(Random& random, const Shape& shape);

DType DrawIndexType(Random& random);

}  // namespace tessera

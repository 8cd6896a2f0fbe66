// Shape functions for DeferredKernel of ops that declare none, or none that is exact.
#pragma once

#include "runtime/framework/shape_inference.h"

namespace tessera {
namespace output_shapes {

// All inputs are of known shape, and inputs in host memory of known value. Errors: INVALID_ARGUMENT
// for shapes that do not fit each other.
absl::Status LikeSecondInput(ShapeContext& c);
absl::Status Select(ShapeContext& c);  // SelectV2: three operands broadcast together
absl::Status MatMul(ShapeContext& c);
absl::Status BatchMatMul(ShapeContext& c);  // BatchMatMul and BatchMatMulV2
absl::Status BiasAddGrad(ShapeContext& c);
absl::Status ArgMax(ShapeContext& c);
absl::Status BatchNorm(ShapeContext& c);  // FusedBatchNorm and its later versions
absl::Status Conv2D(ShapeContext& c);
absl::Status DepthwiseConv2D(ShapeContext& c);
absl::Status Pool(ShapeContext& c);  // MaxPool and AvgPool
absl::Status CrossEntropy(ShapeContext& c);
absl::Status SparseCrossEntropy(ShapeContext& c);
// Output 0 has the shape that host input 0 (1) describes, as of a gradient with respect to it.
absl::Status GivenByInput0(ShapeContext& c);
absl::Status GivenByInput1(ShapeContext& c);

}  // namespace output_shapes
}  // namespace tessera

// Shape functions of products and factorisations of matrices.
#pragma once

#include "runtime/framework/shape_inference.h"

namespace tessera {
namespace shape {

absl::Status MatMul(ShapeContext& c);       // MatMul and SparseMatMul
absl::Status BatchMatMul(ShapeContext& c);  // all versions
absl::Status QuantizedMatMul(ShapeContext& c);
absl::Status SparseTensorDenseMatMul(ShapeContext& c);
absl::Status Einsum(ShapeContext& c);
absl::Status MatrixTriangularSolve(ShapeContext& c);  // the leading dimensions broadcast
absl::Status Eigen(ShapeContext& c);                  // values, and vectors if `compute_v`
absl::Status Svd(ShapeContext& c);
absl::Status Qr(ShapeContext& c);

}  // namespace shape
}  // namespace tessera

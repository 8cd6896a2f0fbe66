// Reading the small integer inputs of kernels: shapes, axes, begins, sizes.
//
//   ASSIGN_OR_RETURN(IndexVector begin, ReadIndexVector(ctx.input(1), "begin"));
//   ASSIGN_OR_RETURN(int axis, ReadAxis(ctx.input(2), params.rank(), "axis"));
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/index_type.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

using IndexVector = absl::InlinedVector<int64_t, 8>;

// Elements of an integer tensor (any width) of rank 0 or 1.
// Errors: INVALID_ARGUMENT naming `name` for another rank or dtype.
absl::StatusOr<IndexVector> ReadIndexVector(const Tensor& tensor, absl::string_view name);

// The one element of an integer tensor.
// Errors: INVALID_ARGUMENT unless there is exactly one.
absl::StatusOr<int64_t> ReadIndexScalar(const Tensor& tensor, absl::string_view name);

// A shape given as a vector of dimensions.
// Errors: as above, and INVALID_ARGUMENT for a negative dimension or an overflowing product.
absl::StatusOr<Shape> ReadShape(const Tensor& tensor, absl::string_view name);

// An axis in [-rank, rank), made non-negative. Errors: INVALID_ARGUMENT.
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank, absl::string_view name);
absl::StatusOr<int> ReadAxis(const Tensor& tensor, int rank, absl::string_view name);

// Product of dims[begin, end). Only a shape without elements can have dimensions whose product
// overflows; it is 0 then.
inline int64_t DimProduct(const Shape& shape, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) {
    if (__builtin_mul_overflow(product, shape.dim(i), &product)) return 0;
  }
  return product;
}

}  // namespace tessera

// Sparse tensors as ops pass them: indices, values, and the dense shape.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/index_input.h"

namespace tessera {

// A view of three tensors that belong together: `indices` int64 [n, rank], `values` [n], and a
// dense shape of `rank` dimensions. Most ops expect the indices in row-major order and without
// repetition; this class does not.
struct SparseTensor {
  Tensor indices, values;
  IndexVector shape;

  // Errors: INVALID_ARGUMENT if the shapes do not fit together, or a dimension is negative.
  static absl::StatusOr<SparseTensor> Make(const Tensor& indices, const Tensor& values,
                                           const Tensor& shape);
  // Reads inputs i, i + 1 and i + 2.
  static absl::StatusOr<SparseTensor> Input(const KernelContext& ctx, int i) {
    return Make(ctx.input(i), ctx.input(i + 1), ctx.input(i + 2));
  }

  int64_t count() const { return indices.dim(0); }
  int rank() const { return static_cast<int>(shape.size()); }
  const int64_t* index(int64_t i) const { return indices.data<int64_t>() + i * rank(); }

  // Errors: INVALID_ARGUMENT naming the first index that lies outside the dense shape.
  absl::Status CheckInBounds() const;
  // Errors: INVALID_ARGUMENT naming the first index that lies outside the dense shape, or is not
  // behind the one before it in row-major order.
  absl::Status CheckOrdered() const;
  // The values' numbers in row-major order of their indices; equal ones keep their order.
  std::vector<int64_t> Order() const;
};

// Whether a comes before (< 0), at (0), or after (> 0) b in row-major order.
inline int CompareIndices(const int64_t* a, const int64_t* b, int rank) {
  for (int d = 0; d < rank; ++d) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

// Allocates outputs i (indices) and i + 1 (values) for `count` values and sets output i + 2
// (shape).
struct SparseOutput {
  Tensor* indices = nullptr;
  Tensor* values = nullptr;
};
absl::StatusOr<SparseOutput> AllocateSparse(KernelContext& ctx, int i, int64_t count,
                                            absl::Span<const int64_t> shape);

}  // namespace tessera

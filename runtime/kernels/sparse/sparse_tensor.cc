#include "runtime/kernels/sparse/sparse_tensor.h"

#include "absl/strings/str_join.h"
#include "runtime/kernels/sparse/row_major_order.h"
#include "runtime/kernels/vector_output.h"

namespace tessera {

absl::StatusOr<SparseTensor> SparseTensor::Make(const Tensor& indices, const Tensor& values,
                                                const Tensor& shape) {
  if (indices.rank() != 2 || values.rank() != 1 || shape.rank() != 1 ||
      indices.dim(0) != values.dim(0) || indices.dim(1) != shape.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a sparse tensor needs indices [n,rank], values [n] and a shape [rank]; they have shapes ",
        indices.shape().ToString(), ", ", values.shape().ToString(), ", ",
        shape.shape().ToString()));
  }
  SparseTensor sparse;
  sparse.indices = indices;
  sparse.values = values;
  ASSIGN_OR_RETURN(sparse.shape, ReadIndexVector(shape, "dense shape"));
  for (int64_t dim : sparse.shape) {
    if (dim < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the dense shape [", absl::StrJoin(sparse.shape, ","), "] must be non-negative"));
    }
  }
  return sparse;
}

absl::Status SparseTensor::CheckInBounds() const {
  const int64_t* at = indices.data<int64_t>();
  const int64_t* const bounds = shape.data();
  const int depth = rank();
  // Indices without coordinates take no memory, and there may be any number of them.
  if (depth == 0) return absl::OkStatus();
  for (int64_t i = 0, end = count(); i < end; ++i, at += depth) {
    for (int d = 0; d < depth; ++d) {
      if (at[d] < 0 || at[d] >= bounds[d]) {
        return absl::InvalidArgumentError(
            absl::StrCat("indices[", i, "] = [", absl::StrJoin(at, at + depth, ","),
                         "] lies outside the dense shape [", absl::StrJoin(shape, ","), "]"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status SparseTensor::CheckOrdered() const {
  RETURN_IF_ERROR(CheckInBounds());
  for (int64_t i = 1; i < count(); ++i) {
    const int order = CompareIndices(index(i - 1), index(i), rank());
    if (order < 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("indices[", i, "] = [", absl::StrJoin(index(i), index(i) + rank(), ","),
                     order == 0 ? "] is repeated" : "] is out of order"));
  }
  return absl::OkStatus();
}

std::vector<int64_t> SparseTensor::Order() const {
  return RowMajorOrder(indices.data<int64_t>(), count(), shape);
}

absl::StatusOr<SparseOutput> AllocateSparse(KernelContext& ctx, int i, int64_t count,
                                            absl::Span<const int64_t> shape) {
  SparseOutput output;
  ASSIGN_OR_RETURN(output.indices,
                   ctx.AllocateOutput(i, Shape{count, static_cast<int64_t>(shape.size())}));
  ASSIGN_OR_RETURN(output.values, ctx.AllocateOutput(i + 1, Shape{count}));
  RETURN_IF_ERROR(SetVectorOutput(ctx, i + 2, shape));
  return output;
}

}  // namespace tessera

// CSR sparse matrices from and to dense and sparse tensors: DenseToCSRSparseMatrix,
// SparseTensorToCSRSparseMatrix, CSRSparseMatrixToDense, CSRSparseMatrixToSparseTensor,
// CSRSparseMatrixComponents, SparseMatrixNNZ.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/sparse/csr_matrix.h"
#include "runtime/kernels/sparse/sparse_tensor.h"

namespace tessera {
namespace {

const std::vector<DType> kTypes = {DType::kFloat, DType::kDouble, DType::kComplex64,
                                   DType::kComplex128};

// Sets row_begins, batch_begins and column_indices from indices [count, rank]. The entries keep the
// order of the indices, which should be that of rows.
// Errors: INVALID_ARGUMENT for an index outside the shape.
absl::Status SetStructure(const Tensor& indices, CsrMatrix* matrix) {
  const int rank = matrix->shape.rank();
  const int64_t rows = matrix->rows();
  auto* const batch_begins = matrix->batch_begins.data<int64_t>();
  auto* const row_begins = matrix->row_begins.data<int32_t>();
  for (int64_t i = 0; i < indices.dim(0); ++i) {
    const int64_t* const index = indices.data<int64_t>() + i * rank;
    for (int d = 0; d < rank; ++d) {
      if (index[d] >= 0 && index[d] < matrix->shape.dim(d)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("indices[", i, "] = [", absl::StrJoin(index, index + rank, ","),
                       "] does not index into shape ", matrix->shape.ToString()));
    }
    const int64_t b = rank == 2 ? 0 : index[0];
    ++batch_begins[b + 1];
    ++row_begins[b * (rows + 1) + index[rank - 2] + 1];
    matrix->column_indices.data<int32_t>()[i] = static_cast<int32_t>(index[rank - 1]);
  }
  for (int64_t b = 0; b < matrix->batch(); ++b) {
    batch_begins[b + 1] += batch_begins[b];
    int32_t* const row = row_begins + b * (rows + 1);
    for (int64_t r = 0; r < rows; ++r) row[r + 1] += row[r];
  }
  return absl::OkStatus();
}

// Inputs: a dense tensor, and the indices of the elements to take.
class FromDenseKernel : public OpKernel {
 public:
  explicit FromDenseKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& dense = ctx.input(0);
    const Tensor& indices = ctx.input(1);
    const int rank = dense.rank();
    if (rank != 2 && rank != 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the dense input must have rank 2 or 3, has shape ", dense.shape().ToString()));
    }
    if (indices.rank() != 2 || indices.dim(1) != rank) {
      return absl::InvalidArgumentError(absl::StrCat("indices must be a matrix with ", rank,
                                                     " columns, have shape ",
                                                     indices.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const auto matrix,
                     AllocateCsr(ctx, dense.shape(), dense.dtype(), indices.dim(0)));
    RETURN_IF_ERROR(SetStructure(indices, matrix.get()));
    const size_t size = DTypeSize(dense.dtype());
    for (int64_t i = 0; i < indices.dim(0); ++i) {
      const int64_t* const index = indices.data<int64_t>() + i * rank;
      int64_t at = 0;
      for (int d = 0; d < rank; ++d) at = at * dense.dim(d) + index[d];
      std::memcpy(matrix->values.mutable_raw() + i * size, dense.raw() + at * size, size);
    }
    SetCsrOutput(ctx, matrix);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("DenseToCSRSparseMatrix", kCpu, FromDenseKernel).TypeConstraint("T", kTypes);

// Inputs: indices, values and shape of a sparse tensor.
class FromSparseKernel : public OpKernel {
 public:
  explicit FromSparseKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor sparse, SparseTensor::Input(ctx, 0));
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sparse.shape));
    ASSIGN_OR_RETURN(const auto matrix,
                     AllocateCsr(ctx, shape, sparse.values.dtype(), sparse.count()));
    RETURN_IF_ERROR(SetStructure(sparse.indices, matrix.get()));
    matrix->values = sparse.values;
    SetCsrOutput(ctx, matrix);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SparseTensorToCSRSparseMatrix", kCpu, FromSparseKernel)
    .TypeConstraint("T", kTypes);

// Calls visit(batch, row, column, i) for each entry, which is the i-th one.
template <typename Visitor>
void ForEachEntry(const CsrMatrix& matrix, Visitor visit) {
  for (int64_t b = 0; b < matrix.batch(); ++b) {
    const int32_t* const rows = matrix.row_begin(b);
    for (int64_t r = 0; r < matrix.rows(); ++r) {
      for (int64_t i = matrix.begin(b) + rows[r]; i < matrix.begin(b) + rows[r + 1]; ++i) {
        visit(b, r, int64_t{matrix.column_indices.data<int32_t>()[i]}, i);
      }
    }
  }
}

class ToDenseKernel : public OpKernel {
 public:
  explicit ToDenseKernel(const KernelBuild& build) : dtype_(build.output_types()[0]) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const matrix, CsrInput(ctx, 0, dtype_));
    ASSIGN_OR_RETURN(Tensor* const dense, ctx.AllocateOutput(0, matrix->shape));
    const size_t size = DTypeSize(dtype_);
    std::memset(dense->mutable_raw(), 0, dense->size_bytes());
    ForEachEntry(*matrix, [&](int64_t b, int64_t r, int64_t c, int64_t i) {
      const int64_t at = (b * matrix->rows() + r) * matrix->columns() + c;
      std::memcpy(dense->mutable_raw() + at * size, matrix->values.raw() + i * size, size);
    });
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};
REGISTER_KERNEL("CSRSparseMatrixToDense", kCpu, ToDenseKernel).TypeConstraint("type", kTypes);

class ToSparseKernel : public OpKernel {
 public:
  explicit ToSparseKernel(const KernelBuild& build) : dtype_(build.output_types()[1]) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const matrix, CsrInput(ctx, 0, dtype_));
    const int rank = matrix->shape.rank();
    ASSIGN_OR_RETURN(Tensor* const indices,
                     ctx.AllocateOutput(0, Shape{matrix->values.num_elements(), rank}));
    ForEachEntry(*matrix, [&](int64_t b, int64_t r, int64_t c, int64_t i) {
      int64_t* to = indices->data<int64_t>() + i * rank;
      if (rank == 3) *to++ = b;
      to[0] = r;
      to[1] = c;
    });
    ctx.set_output(1, matrix->values);
    ASSIGN_OR_RETURN(Tensor* const shape, ctx.AllocateOutput(2, Shape{rank}));
    std::copy_n(matrix->shape.dims().begin(), rank, shape->data<int64_t>());
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};
REGISTER_KERNEL("CSRSparseMatrixToSparseTensor", kCpu, ToSparseKernel)
    .TypeConstraint("type", kTypes);

// Inputs: a matrix, and which of the batch. Outputs: row pointers, column indices, values.
class ComponentsKernel : public OpKernel {
 public:
  explicit ComponentsKernel(const KernelBuild& build) : dtype_(build.output_types()[2]) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const matrix, CsrInput(ctx, 0, dtype_));
    if (!ctx.input(1).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("index must be a scalar, has shape ", ctx.input(1).shape().ToString()));
    }
    const int32_t b = ctx.input(1).scalar<int32_t>();
    if (b < 0 || b >= matrix->batch()) {
      return absl::InvalidArgumentError(
          absl::StrCat("index (", b, ") not in [0, ", matrix->batch(), ")"));
    }
    const int64_t count = matrix->count(b);
    ASSIGN_OR_RETURN(Tensor* const rows, ctx.AllocateOutput(0, Shape{matrix->rows() + 1}));
    ASSIGN_OR_RETURN(Tensor* const columns, ctx.AllocateOutput(1, Shape{count}));
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(2, Shape{count}));
    std::copy_n(matrix->row_begin(b), matrix->rows() + 1, rows->data<int32_t>());
    std::copy_n(matrix->column_indices.data<int32_t>() + matrix->begin(b), count,
                columns->data<int32_t>());
    const size_t size = DTypeSize(dtype_);
    std::memcpy(values->mutable_raw(), matrix->values.raw() + matrix->begin(b) * size,
                count * size);
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};
REGISTER_KERNEL("CSRSparseMatrixComponents", kCpu, ComponentsKernel).TypeConstraint("type", kTypes);

// Output: the number of entries, a scalar or one a matrix of the batch.
class CountKernel : public OpKernel {
 public:
  explicit CountKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const matrix, CsrInput(ctx, 0));
    const Shape shape = matrix->shape.rank() == 2 ? Shape() : Shape{matrix->batch()};
    ASSIGN_OR_RETURN(Tensor* const counts, ctx.AllocateOutput(0, shape));
    for (int64_t b = 0; b < matrix->batch(); ++b) {
      counts->data<int32_t>()[b] = static_cast<int32_t>(matrix->count(b));
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SparseMatrixNNZ", kCpu, CountKernel);

}  // namespace
}  // namespace tessera

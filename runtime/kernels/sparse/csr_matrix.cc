#include "runtime/kernels/sparse/csr_matrix.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tessera {

std::string CsrMatrix::DebugString() const {
  return absl::StrCat("CSRSparseMatrix of ", DTypeName(dtype()), shape.ToString(), " with ",
                      values.num_elements(), " entries");
}

absl::StatusOr<const CsrMatrix*> CsrInput(const KernelContext& ctx, int i) {
  const Tensor& input = ctx.input(i);
  if (!input.shape().IsScalar()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " must be a scalar, has shape ", input.shape().ToString()));
  }
  const auto* const matrix = input.scalar<Variant>().get<CsrMatrix>();
  if (matrix != nullptr) return matrix;
  return absl::InvalidArgumentError(absl::StrCat("input ", i, " holds no CSRSparseMatrix"));
}

absl::StatusOr<const CsrMatrix*> CsrInput(const KernelContext& ctx, int i, DType dtype) {
  ASSIGN_OR_RETURN(const CsrMatrix* const matrix, CsrInput(ctx, i));
  if (matrix->dtype() == dtype) return matrix;
  return absl::InvalidArgumentError(absl::StrCat("Asked for a CSRSparseMatrix of type ",
                                                 DTypeName(dtype), " but input ", i, " has dtype ",
                                                 DTypeName(matrix->dtype())));
}

absl::StatusOr<std::shared_ptr<CsrMatrix>> AllocateCsr(KernelContext& ctx, const Shape& shape,
                                                       DType dtype, int64_t count) {
  if (shape.rank() != 2 && shape.rank() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("a sparse matrix must have rank 2 or 3, its shape is ", shape.ToString()));
  }
  auto matrix = std::make_shared<CsrMatrix>();
  matrix->shape = shape;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (matrix->rows() >= kMost || matrix->columns() > kMost || count > kMost) {
    return absl::InvalidArgumentError(absl::StrCat("a sparse matrix of shape ", shape.ToString(),
                                                   " with ", count,
                                                   " entries is too large for indices of 32 bits"));
  }
  ASSIGN_OR_RETURN(const Shape row_shape, Shape::Make({matrix->batch(), matrix->rows() + 1}));
  ASSIGN_OR_RETURN(matrix->batch_begins,
                   ctx.AllocateZeros(DType::kInt64, Shape{matrix->batch() + 1}));
  ASSIGN_OR_RETURN(matrix->row_begins,
                   ctx.AllocateZeros(DType::kInt32, Shape{row_shape.num_elements()}));
  ASSIGN_OR_RETURN(matrix->column_indices, ctx.AllocateTemp(DType::kInt32, Shape{count}));
  ASSIGN_OR_RETURN(matrix->values, ctx.AllocateTemp(dtype, Shape{count}));
  return matrix;
}

void SetCsrOutput(KernelContext& ctx, std::shared_ptr<CsrMatrix> matrix) {
  ctx.set_output(0, Tensor::Scalar<Variant>(Variant(std::move(matrix))));
}

}  // namespace tessera

// Matrices in compressed sparse row form, as the value of a variant: what the SparseMatrix ops pass
// around.
#pragma once

#include <memory>
#include <string>

#include "Eigen/SparseCore"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/tensor/variant.h"

namespace tessera {

// One matrix [rows, columns], or a batch [batch, rows, columns] of them. Immutable once it is held
// by a variant.
//
// The entries of a matrix stand behind each other in the order of rows; `batch_begins` has where
// the entries of each matrix begin, and their number in all. `row_begins` is [batch * (rows + 1)]:
// where each row begins among the entries of its matrix.
struct CsrMatrix : public VariantValue {
  std::string TypeName() const override { return "tensorflow::CSRSparseMatrix"; }
  std::string DebugString() const override;

  DType dtype() const { return values.dtype(); }
  int64_t batch() const { return shape.rank() == 2 ? 1 : shape.dim(0); }
  int64_t rows() const { return shape.dim(shape.rank() - 2); }
  int64_t columns() const { return shape.dim(shape.rank() - 1); }
  int64_t count(int64_t b) const { return begin(b + 1) - begin(b); }  // entries of matrix b
  int64_t begin(int64_t b) const { return batch_begins.data<int64_t>()[b]; }
  const int32_t* row_begin(int64_t b) const {
    return row_begins.data<int32_t>() + b * (rows() + 1);
  }
  // Views matrix b for Eigen.
  template <typename T>
  Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int32_t>> Map(int64_t b) const {
    return {rows(),
            columns(),
            count(b),
            row_begin(b),
            column_indices.data<int32_t>() + begin(b),
            values.data<T>() + begin(b)};
  }

  Shape shape;
  Tensor batch_begins;    // int64
  Tensor row_begins;      // int32
  Tensor column_indices;  // int32
  Tensor values;
};

// Returns the matrix that input i holds. Errors: INVALID_ARGUMENT unless it is a scalar with one.
absl::StatusOr<const CsrMatrix*> CsrInput(const KernelContext& ctx, int i);
// The same, whose values have `dtype`.
absl::StatusOr<const CsrMatrix*> CsrInput(const KernelContext& ctx, int i, DType dtype);

// Allocates the tensors of a matrix with `count` entries; row_begins is all 0. Errors:
// INVALID_ARGUMENT unless the shape has 2 or 3 dimensions, and for sizes beyond int32.
absl::StatusOr<std::shared_ptr<CsrMatrix>> AllocateCsr(KernelContext& ctx, const Shape& shape,
                                                       DType dtype, int64_t count);
// Sets output 0 to the matrix.
void SetCsrOutput(KernelContext& ctx, std::shared_ptr<CsrMatrix> matrix);

// Collects the matrices of a batch one by one, and joins them.
template <typename T>
class CsrBatch {
 public:
  using Sparse = Eigen::SparseMatrix<T, Eigen::RowMajor, int32_t>;

  void Add(Sparse matrix) {
    matrix.makeCompressed();
    count_ += matrix.nonZeros();
    matrices_.push_back(std::move(matrix));
  }
  // Sets output 0 to a batch of `shape`, which must be that of the added matrices.
  absl::Status SetOutput(KernelContext& ctx, const Shape& shape) const {
    ASSIGN_OR_RETURN(const auto joined, AllocateCsr(ctx, shape, DTypeOf<T>, count_));
    int64_t at = 0;
    for (size_t b = 0; b < matrices_.size(); ++b) {
      const Sparse& matrix = matrices_[b];
      const int64_t count = matrix.nonZeros();
      std::copy_n(matrix.outerIndexPtr(), matrix.rows() + 1,
                  joined->row_begins.template data<int32_t>() + b * (matrix.rows() + 1));
      std::copy_n(matrix.innerIndexPtr(), count,
                  joined->column_indices.template data<int32_t>() + at);
      std::copy_n(matrix.valuePtr(), count, joined->values.template data<T>() + at);
      at += count;
      joined->batch_begins.template data<int64_t>()[b + 1] = at;
    }
    SetCsrOutput(ctx, joined);
    return absl::OkStatus();
  }

 private:
  std::vector<Sparse> matrices_;
  int64_t count_ = 0;
};

}  // namespace tessera

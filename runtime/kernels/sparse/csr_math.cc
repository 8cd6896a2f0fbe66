// Linear algebra of CSR sparse matrices, by Eigen: SparseMatrixMatMul, SparseMatrixSparseMatMul,
// SparseMatrixTranspose, Conj, SparseMatrixSparseCholesky, SparseMatrixOrderingAMD.
#include <algorithm>
#include <complex>
#include <memory>
#include <vector>

#include "Eigen/OrderingMethods"
#include "Eigen/SparseCholesky"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/sparse/csr_matrix.h"

namespace tessera {
namespace {

const std::vector<DType> kTypes = {DType::kFloat, DType::kDouble, DType::kComplex64,
                                   DType::kComplex128};

template <typename T>
using Sparse = Eigen::SparseMatrix<T, Eigen::RowMajor, int32_t>;
template <typename T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename Visitor>
absl::Status VisitElement(DType dtype, Visitor&& visit) {
  switch (dtype) {
    case DType::kFloat:
      return visit.template operator()<float>();
    case DType::kDouble:
      return visit.template operator()<double>();
    case DType::kComplex64:
      return visit.template operator()<std::complex<float>>();
    case DType::kComplex128:
      return visit.template operator()<std::complex<double>>();
    default:
      return absl::UnimplementedError(
          absl::StrCat("not implemented for matrices of ", DTypeName(dtype)));
  }
}

// How an operand enters a product, by the attributes transpose_X and adjoint_X.
struct OperandForm {
  OperandForm(const KernelBuild& build, const std::string& operand)
      : transposes(build.attr<bool>("transpose_" + operand)),
        adjoins(build.attr<bool>("adjoint_" + operand)) {
    if (transposes && adjoins) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat(
          "Only one of adjoint_", operand, " and transpose_", operand, " may be true.")));
    }
  }
  bool swaps() const { return transposes || adjoins; }

  template <typename M, typename From>
  M Apply(const From& from) const {
    if (adjoins) return M(from.adjoint());
    return transposes ? M(from.transpose()) : M(from);
  }

  bool transposes, adjoins;
};

// Errors: INVALID_ARGUMENT unless the operands have the same rank and batch, and fit each other.
absl::StatusOr<Shape> ProductShape(const Shape& a, const OperandForm& a_form, const Shape& b,
                                   const OperandForm& b_form) {
  const int rank = a.rank();
  if (rank != b.rank() || rank < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("Ranks of a and b must match, saw: ", rank, " vs. ", b.rank()));
  }
  if (rank == 3 && a.dim(0) != b.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Batch sizes of a and b must match, saw: ", a.dim(0), " vs. ", b.dim(0)));
  }
  const auto dim = [&](const Shape& shape, const OperandForm& form, int i) {
    return shape.dim(rank - 2 + (form.swaps() ? 1 - i : i));
  };
  if (dim(a, a_form, 1) != dim(b, b_form, 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Inner product dimensions of A and B do not agree. Shapes are: ", a.ToString(),
                     " vs. ", b.ToString()));
  }
  Shape shape = a;
  shape.SetDim(rank - 2, dim(a, a_form, 0));
  shape.SetDim(rank - 1, dim(b, b_form, 1));
  return shape;
}

// The product of a sparse and a dense matrix.
class MatMulKernel : public OpKernel {
 public:
  explicit MatMulKernel(const KernelBuild& build)
      : a_form_(build, "a"),
        b_form_(build, "b"),
        transposes_(build.attr<bool>("transpose_output")),
        conjugates_(build.attr<bool>("conjugate_output")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& b = ctx.input(1);
    ASSIGN_OR_RETURN(const CsrMatrix* const a, CsrInput(ctx, 0, b.dtype()));
    ASSIGN_OR_RETURN(const Shape product, ProductShape(a->shape, a_form_, b.shape(), b_form_));
    Shape shape = product;
    const int rank = shape.rank();
    if (transposes_) {
      shape.SetDim(rank - 2, product.dim(rank - 1));
      shape.SetDim(rank - 1, product.dim(rank - 2));
    }
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    return VisitElement(b.dtype(), [&]<typename T>() {
      const int64_t b_rows = b.dim(rank - 2), b_columns = b.dim(rank - 1);
      const int64_t size = shape.dim(rank - 2) * shape.dim(rank - 1);
      for (int64_t i = 0; i < a->batch(); ++i) {
        const Sparse<T> left = a_form_.Apply<Sparse<T>>(a->Map<T>(i));
        const Eigen::Map<const Dense<T>> given(b.data<T>() + i * b_rows * b_columns, b_rows,
                                               b_columns);
        Dense<T> result = left * b_form_.Apply<Dense<T>>(given);
        if (transposes_) result.transposeInPlace();
        if (conjugates_) result = result.conjugate().eval();
        std::copy_n(result.data(), size, y->data<T>() + i * size);
      }
      return absl::OkStatus();
    });
  }

 private:
  const OperandForm a_form_, b_form_;
  const bool transposes_, conjugates_;
};
REGISTER_KERNEL("SparseMatrixMatMul", kCpu, MatMulKernel).TypeConstraint("T", kTypes);

class SparseMatMulKernel : public OpKernel {
 public:
  explicit SparseMatMulKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("type")), a_form_(build, "a"), b_form_(build, "b") {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const a, CsrInput(ctx, 0, dtype_));
    ASSIGN_OR_RETURN(const CsrMatrix* const b, CsrInput(ctx, 1, dtype_));
    ASSIGN_OR_RETURN(const Shape shape, ProductShape(a->shape, a_form_, b->shape, b_form_));
    return VisitElement(dtype_, [&]<typename T>() {
      CsrBatch<T> products;
      for (int64_t i = 0; i < a->batch(); ++i) {
        const Sparse<T> left = a_form_.Apply<Sparse<T>>(a->Map<T>(i));
        products.Add(left * b_form_.Apply<Sparse<T>>(b->Map<T>(i)));
      }
      return products.SetOutput(ctx, shape);
    });
  }

 private:
  const DType dtype_;
  const OperandForm a_form_, b_form_;
};
REGISTER_KERNEL("SparseMatrixSparseMatMul", kCpu, SparseMatMulKernel)
    .TypeConstraint("type", kTypes);

class TransposeKernel : public OpKernel {
 public:
  explicit TransposeKernel(const KernelBuild& build)
      : dtype_(build.attr<DType>("type")), conjugates_(build.attr<bool>("conjugate")) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const x, CsrInput(ctx, 0, dtype_));
    Shape shape = x->shape;
    shape.SetDim(shape.rank() - 2, x->columns());
    shape.SetDim(shape.rank() - 1, x->rows());
    return VisitElement(dtype_, [&]<typename T>() {
      CsrBatch<T> transposed;
      for (int64_t i = 0; i < x->batch(); ++i) {
        transposed.Add(conjugates_ ? Sparse<T>(x->Map<T>(i).adjoint())
                                   : Sparse<T>(x->Map<T>(i).transpose()));
      }
      return transposed.SetOutput(ctx, shape);
    });
  }

 private:
  const DType dtype_;
  const bool conjugates_;
};
REGISTER_KERNEL("SparseMatrixTranspose", kCpu, TransposeKernel).TypeConstraint("type", kTypes);

// Conj of a sparse matrix, which shares the positions of its entries. A real one is its own
// conjugate.
class ConjugateKernel : public OpKernel {
 public:
  explicit ConjugateKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const x, CsrInput(ctx, 0));
    if (!IsComplex(x->dtype())) {
      ctx.set_output(0, ctx.input(0));
      return absl::OkStatus();
    }
    auto y = std::make_shared<CsrMatrix>(*x);
    ASSIGN_OR_RETURN(y->values, ctx.AllocateTemp(x->dtype(), x->values.shape()));
    RETURN_IF_ERROR(VisitElement(x->dtype(), [&]<typename T>() {
      const auto from = x->values.flat<T>();
      std::transform(from.begin(), from.end(), y->values.data<T>(),
                     [](const T& value) { return Eigen::numext::conj(value); });
      return absl::OkStatus();
    }));
    SetCsrOutput(ctx, std::move(y));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Conj", kCpu, ConjugateKernel).TypeConstraint<Variant>("T");

// Errors: INVALID_ARGUMENT unless the matrices are square.
absl::Status CheckSquare(const CsrMatrix& x) {
  if (x.rows() == x.columns()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("sparse matrices must be square, have shape ", x.shape.ToString()));
}

// Inputs: matrices, of which the lower triangles are read, and a permutation of the rows of each.
// Row i of the factored matrix is row permutation[i] of the input.
class CholeskyKernel : public OpKernel {
 public:
  explicit CholeskyKernel(const KernelBuild& build) : dtype_(build.attr<DType>("type")) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const x, CsrInput(ctx, 0, dtype_));
    RETURN_IF_ERROR(CheckSquare(*x));
    const Tensor& permutation = ctx.input(1);
    const Shape expected = x->shape.rank() == 2 ? Shape{x->rows()} : Shape{x->batch(), x->rows()};
    if (permutation.shape() != expected) {
      return absl::InvalidArgumentError(absl::StrCat("permutation must have shape ",
                                                     expected.ToString(), ", has ",
                                                     permutation.shape().ToString()));
    }
    return VisitElement(dtype_, [&]<typename T>() -> absl::Status {
      CsrBatch<T> factors;
      for (int64_t i = 0; i < x->batch(); ++i) {
        ASSIGN_OR_RETURN(Sparse<T> factor,
                         Factor<T>(*x, i, permutation.data<int32_t>() + i * x->rows()));
        factors.Add(std::move(factor));
      }
      return factors.SetOutput(ctx, x->shape);
    });
  }

 private:
  template <typename T>
  static absl::StatusOr<Sparse<T>> Factor(const CsrMatrix& x, int64_t i, const int32_t* order) {
    using Columns = Eigen::SparseMatrix<T, Eigen::ColMajor, int32_t>;
    // Where each row of the input goes.
    Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int32_t> places(x.rows());
    places.indices().setConstant(-1);
    bool is_permutation = true;
    for (int32_t r = 0; r < x.rows(); ++r) {
      is_permutation =
          is_permutation && order[r] >= 0 && order[r] < x.rows() && places.indices()[order[r]] < 0;
      if (is_permutation) places.indices()[order[r]] = r;
    }
    if (is_permutation) {
      Columns permuted;
      permuted = Columns(x.Map<T>(i)).template selfadjointView<Eigen::Lower>().twistedBy(places);
      const Eigen::SimplicialLLT<Columns, Eigen::Lower, Eigen::NaturalOrdering<int32_t>> solver(
          permuted);
      if (solver.info() == Eigen::Success) return Sparse<T>(Columns(solver.matrixL()));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("Sparse Cholesky factorization failed for batch index ", i,
                     ". The input might not be valid."));
  }

  const DType dtype_;
};
REGISTER_KERNEL("SparseMatrixSparseCholesky", kCpu, CholeskyKernel).TypeConstraint("type", kTypes);

// Output: the permutation by the approximate minimum degree of each matrix, for Cholesky.
class OrderingKernel : public OpKernel {
 public:
  explicit OrderingKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* const x, CsrInput(ctx, 0));
    RETURN_IF_ERROR(CheckSquare(*x));
    const Shape shape = x->shape.rank() == 2 ? Shape{x->rows()} : Shape{x->batch(), x->rows()};
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    for (int64_t i = 0; i < x->batch(); ++i) {
      // Only the structure counts, and that of a symmetric matrix is the same by columns.
      using Columns = Eigen::SparseMatrix<int32_t, Eigen::ColMajor, int32_t>;
      const std::vector<int32_t> ones(x->count(i), 1);
      const Eigen::Map<const Columns> pattern(x->rows(), x->columns(), x->count(i), x->row_begin(i),
                                              x->column_indices.data<int32_t>() + x->begin(i),
                                              ones.data());
      Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int32_t> permutation(x->rows());
      if (x->rows() > 0) Eigen::AMDOrdering<int32_t>()(Columns(pattern), permutation);
      std::copy_n(permutation.indices().data(), x->rows(), y->data<int32_t>() + i * x->rows());
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SparseMatrixOrderingAMD", kCpu, OrderingKernel);

}  // namespace
}  // namespace tessera

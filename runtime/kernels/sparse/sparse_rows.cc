// Rows of sparse tensors: filling empty ones, and another shape for the whole.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// Gives every row without a value one: the default, at column 0. Keeps the order of the others
// within their row. Outputs indices, values, which rows were empty, and for each given value its
// new position. Of ragged tensors, the indices are the row numbers.
template <bool kRagged>
class FillEmptyRowsKernel : public OpKernel {
 public:
  explicit FillEmptyRowsKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& values = ctx.input(1);
    const Tensor& dense_shape = ctx.input(2);
    const Tensor& default_value = ctx.input(3);
    const bool fits = kRagged ? indices.rank() == 1 && dense_shape.rank() == 0
                              : indices.rank() == 2 && dense_shape.rank() == 1 &&
                                    dense_shape.dim(0) >= 1 && indices.dim(1) == dense_shape.dim(0);
    if (!fits || values.rank() != 1 || indices.dim(0) != values.dim(0) ||
        default_value.rank() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          kRagged ? "RaggedFillEmptyRows needs value_rowids [n], values [n], a scalar nrows"
                  : "SparseFillEmptyRows needs indices [n,rank], values [n], dense_shape [rank]",
          " and a scalar default; has shapes ", indices.shape().ToString(), ", ",
          values.shape().ToString(), ", ", dense_shape.shape().ToString(), ", ",
          default_value.shape().ToString()));
    }
    const int64_t count = indices.dim(0), rank = kRagged ? 1 : indices.dim(1);
    const int64_t rows = dense_shape.flat<int64_t>()[0];
    if (rows < 0) {
      return absl::InvalidArgumentError(absl::StrCat("the number of rows is ", rows));
    }
    if (rows == 0 && count > 0) {
      return absl::InvalidArgumentError(absl::StrCat("there are no rows, but ", count, " values"));
    }
    const int64_t* in = indices.data<int64_t>();
    ASSIGN_OR_RETURN(Tensor* const empty, ctx.AllocateOutput(2, {rows}));
    // First the size of each row, then where its next goes.
    ASSIGN_OR_RETURN(Tensor sizes, ctx.AllocateTemp(DType::kInt64, {rows}));
    bool* const is_empty = empty->data<bool>();
    int64_t* const next = sizes.data<int64_t>();
    std::fill(is_empty, is_empty + rows, true);
    std::fill(next, next + rows, 0);
    for (int64_t n = 0; n < count; ++n) {
      const int64_t row = in[n * rank];
      if (row < 0 || row >= rows) {
        return absl::InvalidArgumentError(
            absl::StrCat("indices[", n, "] names row ", row, " of ", rows));
      }
      is_empty[row] = false;
      ++next[row];
    }
    int64_t total = 0;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t size = std::max<int64_t>(next[row], 1);
      next[row] = total;
      total += size;
    }
    ASSIGN_OR_RETURN(Tensor* const out_indices,
                     ctx.AllocateOutput(0, kRagged ? Shape{total} : Shape{total, rank}));
    ASSIGN_OR_RETURN(Tensor* const out_values, ctx.AllocateOutput(1, {total}));
    ASSIGN_OR_RETURN(Tensor* const positions, ctx.AllocateOutput(3, {count}));
    int64_t* const out = out_indices->data<int64_t>();
    const DType dtype = values.dtype();
    const size_t size = DTypeSize(dtype);
    for (int64_t row = 0; row < rows; ++row) {
      if (!is_empty[row]) continue;
      std::fill_n(out + next[row] * rank, rank, 0);
      out[next[row] * rank] = row;
      CopyElements(dtype, default_value.raw(), out_values->mutable_raw() + next[row] * size, 1);
    }
    for (int64_t n = 0; n < count; ++n) {
      const int64_t to = next[in[n * rank]]++;
      std::copy_n(in + n * rank, rank, out + to * rank);
      CopyElements(dtype, values.raw() + n * size, out_values->mutable_raw() + to * size, 1);
      positions->data<int64_t>()[n] = to;
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SparseFillEmptyRows", kCpu, FillEmptyRowsKernel<false>);
REGISTER_KERNEL("RaggedFillEmptyRows", kCpu, FillEmptyRowsKernel<true>);

// The same values under another dense shape, one dimension of which may be -1.
class SparseReshapeKernel : public OpKernel {
 public:
  explicit SparseReshapeKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    ASSIGN_OR_RETURN(const IndexVector from, ReadIndexVector(ctx.input(1), "input_shape"));
    ASSIGN_OR_RETURN(IndexVector to, ReadIndexVector(ctx.input(2), "new_shape"));
    if (ctx.input(1).rank() != 1 || ctx.input(2).rank() != 1 || indices.rank() != 2 ||
        indices.dim(1) != static_cast<int64_t>(from.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("SparseReshape needs indices [n,rank] and two shape vectors; has shapes ",
                       indices.shape().ToString(), ", ", ctx.input(1).shape().ToString(), ", ",
                       ctx.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Shape from_shape, Shape::Make(from));
    RETURN_IF_ERROR(InferDimension(from_shape.num_elements(), &to));
    ASSIGN_OR_RETURN(const Shape to_shape, Shape::Make(to));
    if (to_shape.num_elements() != from_shape.num_elements()) {
      return absl::InvalidArgumentError(absl::StrCat("a sparse tensor of dense shape ",
                                                     from_shape.ToString(), " cannot have shape ",
                                                     to_shape.ToString()));
    }
    const int64_t count = indices.dim(0), from_rank = indices.dim(1);
    const int64_t to_rank = static_cast<int64_t>(to.size());
    ASSIGN_OR_RETURN(Tensor* const out, ctx.AllocateOutput(0, {count, to_rank}));
    const int64_t* in = indices.data<int64_t>();
    for (int64_t n = 0; n < count; ++n) {
      int64_t flat = 0;
      for (int64_t d = 0; d < from_rank; ++d) flat = flat * from[d] + in[n * from_rank + d];
      for (int64_t d = to_rank; d-- > 0;) {
        out->data<int64_t>()[n * to_rank + d] = to[d] == 0 ? 0 : flat % to[d];
        if (to[d] != 0) flat /= to[d];
      }
    }
    ctx.set_output(1, Tensor::Vector<int64_t>(absl::MakeConstSpan(to)));
    return absl::OkStatus();
  }

 private:
  static absl::Status InferDimension(int64_t elements, IndexVector* to) {
    int64_t known = 1, unknown = -1;
    for (size_t d = 0; d < to->size(); ++d) {
      if ((*to)[d] == -1) {
        if (unknown >= 0) {
          return absl::InvalidArgumentError("only one dimension of new_shape may be -1");
        }
        unknown = static_cast<int64_t>(d);
      } else if ((known = MultiplyWithoutOverflow(known, (*to)[d])) < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("new_shape[", d, "] is ", (*to)[d], ", or the product overflows"));
      }
    }
    if (unknown < 0) return absl::OkStatus();
    if (known == 0 || elements % known != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dimension ", unknown, " cannot be inferred: ", elements, " elements over ", known));
    }
    (*to)[unknown] = elements / known;
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SparseReshape", kCpu, SparseReshapeKernel);

}  // namespace
}  // namespace tessera

// Rows of sparse tensors: filling empty ones, and another shape for the whole.
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/fill_empty_rows.h"
#include "runtime/kernels/primitives/reshape_indices.h"
#include "runtime/kernels/vector_output.h"

namespace tessera {
namespace {

// Gives every row without a value one: the default, at column 0. Keeps the order of the others
// within their row. Outputs indices, values, which rows were empty, and for each given value its
// new position. Of ragged tensors, the indices are the row numbers.
template <bool kRagged>
class FillEmptyRowsKernel : public OpKernel {
 public:
  explicit FillEmptyRowsKernel(const KernelBuild& build) : fill_(build) {}
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
    ASSIGN_OR_RETURN(Tensor* const is_empty, ctx.AllocateOutput(2, {rows}));
    ASSIGN_OR_RETURN(Tensor* const positions, ctx.AllocateOutput(3, {count}));
    ASSIGN_OR_RETURN(const Tensor coordinates, indices.Reshaped(Shape{count, rank}));
    ASSIGN_OR_RETURN(FillEmptyRows::Filled filled,
                     fill_(ctx, coordinates, values, default_value, is_empty, positions));
    if (kRagged) {
      ASSIGN_OR_RETURN(filled.indices, filled.indices.Reshaped(filled.values.shape()));
    }
    ctx.set_output(0, std::move(filled.indices));
    ctx.set_output(1, std::move(filled.values));
    return absl::OkStatus();
  }

 private:
  const Primitive<FillEmptyRows> fill_;
};
REGISTER_KERNEL("SparseFillEmptyRows", DevicesOf<FillEmptyRows>, FillEmptyRowsKernel<false>)
    .HostMemory("dense_shape");
REGISTER_KERNEL("RaggedFillEmptyRows", DevicesOf<FillEmptyRows>, FillEmptyRowsKernel<true>)
    .HostMemory("nrows");

// The same values under another dense shape, one dimension of which may be -1.
class SparseReshapeKernel : public OpKernel {
 public:
  explicit SparseReshapeKernel(const KernelBuild& build) : reshape_(build) {}
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
    if (from_shape == to_shape) {
      ctx.set_output(0, indices);
      return SetVectorOutput(ctx, 1, absl::MakeConstSpan(to));
    }
    if (indices.dim(0) > 0 && from_shape.num_elements() == 0) {
      return absl::InvalidArgumentError(absl::StrCat("a sparse tensor of dense shape ",
                                                     from_shape.ToString(), " has no place for ",
                                                     indices.dim(0), " values"));
    }
    ASSIGN_OR_RETURN(Tensor* const out,
                     ctx.AllocateOutput(0, {indices.dim(0), static_cast<int64_t>(to.size())}));
    RETURN_IF_ERROR(reshape_(ctx, from, indices, to, out));
    return SetVectorOutput(ctx, 1, absl::MakeConstSpan(to));
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

  const Primitive<ReshapeIndices> reshape_;
};
REGISTER_KERNEL("SparseReshape", DevicesOf<ReshapeIndices>, SparseReshapeKernel)
    .HostMemory("input_shape")
    .HostMemory("new_shape")
    .HostMemory("output_shape");

}  // namespace
}  // namespace tessera

// Gradients of ops that rearrange sparse tensors: SparseAddGrad, SparseSliceGrad,
// SparseFillEmptyRowsGrad, RaggedFillEmptyRowsGrad.
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/wrapping.h"
#include "runtime/kernels/sparse/sparse_tensor.h"

namespace tessera {
namespace {

// One operand of a sum, and how far the walk along its indices has come.
struct Addend {
  const Tensor& indices;
  Tensor& gradient;
  int64_t next = 0;

  bool AtEnd() const { return next == indices.dim(0); }
};

// Compares the next index of `addend` with row `k` of `sum`, and goes past it unless it lies behind
// that row. An equal index gets the gradient of the row. Returns whether it lay before the row.
bool StepTo(const Tensor& sum, const Tensor& gradient, int64_t k, Addend* addend) {
  const int rank = static_cast<int>(sum.dim(1));
  const int order = CompareIndices(addend->indices.data<int64_t>() + addend->next * rank,
                                   sum.data<int64_t>() + k * rank, rank);
  if (order > 0) return false;
  if (order == 0) {
    const size_t size = DTypeSize(gradient.dtype());
    CopyElements(gradient.dtype(), gradient.raw() + k * size,
                 addend->gradient.mutable_raw() + addend->next * size, 1);
  }
  ++addend->next;
  return order < 0;
}

// Errors: INVALID_ARGUMENT unless `indices` is a matrix, and all have one number of columns.
absl::Status CheckIndices(std::initializer_list<const Tensor*> matrices) {
  for (const Tensor* indices : matrices) {
    if (indices->rank() != 2 || indices->dim(1) != (*matrices.begin())->dim(1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices must be matrices of one width; there is one of shape ",
                       indices->shape().ToString()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckGradient(const Tensor& gradient, const Tensor& indices) {
  if (gradient.rank() == 1 && gradient.dim(0) == indices.dim(0)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the gradient must be a vector with a value for each index; it has shape ",
                   gradient.shape().ToString(), ", the indices have ", indices.shape().ToString()));
}

// All indices are in row-major order; those that the sum lacks get zeros. One row of the sum serves
// both operands before the walk goes on: of indices that repeat in an operand, the first one gets
// the gradient, and the next one too if the other operand lay before the row.
class SparseAddGradKernel : public OpKernel {
 public:
  explicit SparseAddGradKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& a = ctx.input(1);
    const Tensor& b = ctx.input(2);
    const Tensor& sum = ctx.input(3);
    RETURN_IF_ERROR(CheckIndices({&a, &b, &sum}));
    RETURN_IF_ERROR(CheckGradient(ctx.input(0), sum));
    Tensor* gradients[2];
    for (int i = 0; i < 2; ++i) {
      ASSIGN_OR_RETURN(gradients[i], ctx.AllocateOutput(i, Shape{ctx.input(i + 1).dim(0)}));
      ZeroElements(gradients[i]->dtype(), gradients[i]->mutable_raw(),
                   gradients[i]->num_elements());
    }
    Addend addends[] = {{a, *gradients[0]}, {b, *gradients[1]}};
    for (int64_t k = 0; k < sum.dim(0) && !(addends[0].AtEnd() && addends[1].AtEnd());) {
      bool is_before = false;
      for (Addend& addend : addends) {
        if (!addend.AtEnd()) is_before |= StepTo(sum, ctx.input(0), k, &addend);
      }
      if (!is_before) ++k;
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SparseAddGrad", kCpu, SparseAddGradKernel);

// The gradients are those of the tensor's indices, less `start`, in the tensor's order, whichever
// that is: each is for the next index that equals its own. Errors: INVALID_ARGUMENT for shapes that
// do not fit; INTERNAL for gradients that are left over.
class SparseSliceGradKernel : public OpKernel {
 public:
  explicit SparseSliceGradKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(1);
    const Tensor& start = ctx.input(2);
    const Tensor& output = ctx.input(3);
    RETURN_IF_ERROR(CheckIndices({&input, &output}));
    RETURN_IF_ERROR(CheckGradient(ctx.input(0), output));
    if (output.dim(0) > input.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a slice has no more indices than its tensor, these are ", output.dim(0),
                       " and ", input.dim(0)));
    }
    if (start.rank() != 1 || start.dim(0) != input.dim(1)) {
      return absl::InvalidArgumentError(absl::StrCat("input_start must be a vector of ",
                                                     input.dim(1), " elements, has shape ",
                                                     start.shape().ToString()));
    }
    const Tensor& gradient = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor* const result, ctx.AllocateOutput(0, Shape{input.dim(0)}));
    ZeroElements(result->dtype(), result->mutable_raw(), result->num_elements());
    const size_t size = DTypeSize(result->dtype());
    int64_t used = 0;
    for (int64_t i = 0; i < input.dim(0) && used < output.dim(0); ++i) {
      if (!IsShifted(input, i, start, output, used)) continue;
      CopyElements(result->dtype(), gradient.raw() + used * size, result->mutable_raw() + i * size,
                   1);
      ++used;
    }
    if (used == output.dim(0)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("of ", output.dim(0), " gradients, ", used,
                                            " stand at an index of the tensor"));
  }

 private:
  // Whether row i of `indices` is row j of `slice` with `start` added. Sums wrap around.
  static bool IsShifted(const Tensor& indices, int64_t i, const Tensor& start, const Tensor& slice,
                        int64_t j) {
    const int64_t rank = indices.dim(1);
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t in_slice = slice.data<int64_t>()[j * rank + d];
      const int64_t index = WrappingAdd(in_slice, start.data<int64_t>()[d]);
      if (indices.data<int64_t>()[i * rank + d] != index) return false;
    }
    return true;
  }
};
REGISTER_KERNEL("SparseSliceGrad", kCpu, SparseSliceGradKernel);

// The gradients at `reverse_index_map` are those of the given values; the sum of all others is that
// of the default value.
class FillEmptyRowsGradKernel : public OpKernel {
 public:
  explicit FillEmptyRowsGradKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& map = ctx.input(0);
    const Tensor& gradient = ctx.input(1);
    if (map.rank() != 1 || gradient.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("reverse_index_map and grad_values must be vectors, have shapes ",
                       map.shape().ToString(), " and ", gradient.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(0, map.shape()));
    ASSIGN_OR_RETURN(Tensor* const default_value, ctx.AllocateOutput(1, Shape()));
    return VisitNumericType(gradient.dtype(), [&]<typename T>() -> absl::Status {
      const auto from = gradient.flat<T>();
      std::vector<bool> given(from.size(), false);
      for (int64_t i = 0; i < map.dim(0); ++i) {
        const int64_t at = map.data<int64_t>()[i];
        if (at < 0 || at >= gradient.dim(0)) {
          return absl::InvalidArgumentError(absl::StrCat(
              "Elements in reverse index must be in [0, ", gradient.dim(0), ") but got ", at));
        }
        values->data<T>()[i] = from[at];
        given[at] = true;
      }
      T sum(0);
      for (size_t i = 0; i < from.size(); ++i) {
        if (!given[i]) sum = WrappingAdd(sum, from[i]);
      }
      default_value->scalar<T>() = sum;
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("SparseFillEmptyRowsGrad", kCpu, FillEmptyRowsGradKernel);
REGISTER_KERNEL("RaggedFillEmptyRowsGrad", kCpu, FillEmptyRowsGradKernel);

}  // namespace
}  // namespace tessera

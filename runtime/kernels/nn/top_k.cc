// The greatest elements of each row: TopKV2, ApproxTopK (exact here), InTopK, NthElement.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/sort.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

// `k` is an attribute of TopK and an input of TopKV2.
// Errors: INVALID_ARGUMENT for a scalar input, or `k` negative or more than there are columns.
class TopKKernel : public OpKernel {
 public:
  explicit TopKKernel(const KernelBuild& build)
      : top_k_(build), k_(build.has_attr("k") ? build.attr<int64_t>("k") : -1) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const int64_t k, ctx.num_inputs() == 1 ? k_ : ReadK(ctx.input(1)));
    if (k < 0) return absl::InvalidArgumentError(absl::StrCat("'k' must not be negative, is ", k));
    if (x.rank() < 1 || x.dim(x.rank() - 1) < k) {
      return absl::InvalidArgumentError(absl::StrCat("the input must have at least k = ", k,
                                                     " columns, has shape ", x.shape().ToString()));
    }
    Shape shape = x.shape();
    shape.SetDim(x.rank() - 1, k);
    ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(1, shape));
    return top_k_(ctx, {.axis = x.rank() - 1, .k = k}, x, values, indices);
  }

 private:
  static absl::StatusOr<int64_t> ReadK(const Tensor& k) { return ReadIntegerOfScalar(k, "k"); }

  const Primitive<TopK> top_k_;
  const int64_t k_;
};
REGISTER_KERNEL("TopK", DevicesOf<TopK>, TopKKernel).TypeConstraint("T", DTypeList(kReal));
REGISTER_KERNEL("TopKV2", DevicesOf<TopK>, TopKKernel)
    .TypeConstraint("T", DTypeList(kReal))
    .HostMemory("k");

// Errors: INVALID_ARGUMENT for a dimension out of range or smaller than `k`.
class ApproxTopKKernel : public OpKernel {
 public:
  explicit ApproxTopKKernel(const KernelBuild& build)
      : top_k_(build),
        k_(build.attr<int64_t>("k")),
        dimension_(build.attr<int64_t>("reduction_dimension")),
        is_greatest_(build.attr<bool>("is_max_k")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(dimension_, x.rank(), "reduction_dimension"));
    if (x.dim(axis) < k_) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " of shape ",
                                                     x.shape().ToString(),
                                                     " has less than k = ", k_, " elements"));
    }
    Shape shape = x.shape();
    shape.SetDim(axis, k_);
    ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(1, shape));
    return top_k_(ctx, {.axis = axis, .k = k_, .is_greatest = is_greatest_}, x, values, indices);
  }

 private:
  const Primitive<TopK> top_k_;
  const int64_t k_;
  const int64_t dimension_;
  const bool is_greatest_;
};
REGISTER_KERNEL("ApproxTopK", DevicesOf<TopK>, ApproxTopKKernel);

// Whether the prediction of each row's target class is among the k greatest. Errors:
// INVALID_ARGUMENT for shapes other than [batch, classes] and [batch].
class InTopKKernel : public OpKernel {
 public:
  explicit InTopKKernel(const KernelBuild& build)
      : in_top_k_(build), k_(build.has_attr("k") ? build.attr<int64_t>("k") : -1) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& predictions = ctx.input(0);
    const Tensor& targets = ctx.input(1);
    if (!predictions.shape().IsMatrix() || !targets.shape().IsVector() ||
        predictions.dim(0) != targets.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "predictions must be [batch, classes] and targets [batch]; they have shapes ",
          predictions.shape().ToString(), " and ", targets.shape().ToString()));
    }
    int64_t k = k_;
    if (ctx.num_inputs() > 2) {
      ASSIGN_OR_RETURN(k, ReadIntegerOfScalar(ctx.input(2), "k"));
    }
    ASSIGN_OR_RETURN(Tensor * result, ctx.AllocateOutput(0, targets.shape()));
    return in_top_k_(ctx, k, predictions, targets, result);
  }

 private:
  const Primitive<InTopK> in_top_k_;
  const int64_t k_;
};
REGISTER_KERNEL("InTopK", DevicesOf<InTopK>, InTopKKernel);
REGISTER_KERNEL("InTopKV2", DevicesOf<InTopK>, InTopKKernel).HostMemory("k");

// The n-th element (from 0) of each row in ascending order, or in descending order if `reverse`.
// Errors: INVALID_ARGUMENT for a scalar input or `n` out of range.
class NthElementKernel : public OpKernel {
 public:
  explicit NthElementKernel(const KernelBuild& build)
      : nth_element_(build), reverse_(build.attr<bool>("reverse")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(int64_t n, ReadIntegerOfScalar(ctx.input(1), "n"));
    if (n < 0 || x.rank() < 1 || x.dim(x.rank() - 1) <= n) {
      return absl::InvalidArgumentError(
          absl::StrCat("no element ", n, " in rows of shape ", x.shape().ToString()));
    }
    const int64_t columns = x.dim(x.rank() - 1);
    if (reverse_) n = columns - 1 - n;
    Shape shape = x.shape();
    shape.RemoveDim(x.rank() - 1);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, shape));
    return nth_element_(ctx, n, x, y);
  }

 private:
  const Primitive<NthElement> nth_element_;
  const bool reverse_;
};
REGISTER_KERNEL("NthElement", DevicesOf<NthElement>, NthElementKernel).HostMemory("n");

}  // namespace
}  // namespace tessera

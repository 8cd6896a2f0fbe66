// Cross entropy of softmax, with its gradient: labels as distributions or as class numbers.
#include "runtime/kernels/primitives/cross_entropy.h"

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/primitives/dtype_set.h"

namespace tessera {
namespace {

// How a tensor of `shape` is read as a matrix that it broadcasts to.
MatrixStrides StridesOf(const Shape& shape) {
  const int rank = shape.rank();
  const int64_t columns = rank < 1 ? 1 : shape.dim(rank - 1);
  const int64_t rows = rank < 2 ? 1 : shape.dim(0);
  return {.row = rows == 1 ? 0 : columns, .column = columns == 1 ? 0 : 1};
}

// Errors: INVALID_ARGUMENT unless features and labels broadcast to one matrix.
class SoftmaxCrossEntropyKernel : public OpKernel {
 public:
  explicit SoftmaxCrossEntropyKernel(const KernelBuild& build) : cross_entropy_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& features = ctx.input(0);
    const Tensor& labels = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(features.shape(), labels.shape()));
    if (!shape.IsMatrix()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "features and labels must broadcast to a matrix, not to ", shape.ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, Shape{shape.dim(0)}));
    ASSIGN_OR_RETURN(Tensor * gradient, ctx.AllocateOutput(1, shape));
    return cross_entropy_(ctx, features, StridesOf(features.shape()), labels,
                          StridesOf(labels.shape()), loss, gradient);
  }

 private:
  const Primitive<SoftmaxCrossEntropy> cross_entropy_;
};
REGISTER_KERNEL("SoftmaxCrossEntropyWithLogits", DevicesOf<SoftmaxCrossEntropy>,
                SoftmaxCrossEntropyKernel)
    .TypeConstraint("T", DTypeList(kFloating));

// Errors: INVALID_ARGUMENT for shapes other than [batch, classes] and [batch], no classes, or a
// label that is no class.
class SparseSoftmaxCrossEntropyKernel : public OpKernel {
 public:
  explicit SparseSoftmaxCrossEntropyKernel(const KernelBuild& build) : cross_entropy_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& features = ctx.input(0);
    const Tensor& labels = ctx.input(1);
    if (!features.shape().IsMatrix() || !labels.shape().IsVector() ||
        features.dim(0) != labels.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("features must be [batch, classes] and labels [batch]; they have shapes ",
                       features.shape().ToString(), " and ", labels.shape().ToString()));
    }
    if (features.dim(1) == 0) {
      return absl::InvalidArgumentError("features must have at least one class");
    }
    ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, labels.shape()));
    ASSIGN_OR_RETURN(Tensor * gradient, ctx.AllocateOutput(1, features.shape()));
    return cross_entropy_(ctx, features, labels, loss, gradient);
  }

 private:
  const Primitive<SparseSoftmaxCrossEntropy> cross_entropy_;
};
REGISTER_KERNEL("SparseSoftmaxCrossEntropyWithLogits", DevicesOf<SparseSoftmaxCrossEntropy>,
                SparseSoftmaxCrossEntropyKernel)
    .TypeConstraint("T", DTypeList(kFloating));

}  // namespace
}  // namespace tessera

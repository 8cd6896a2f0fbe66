// Cross entropy of softmax, with its gradient: labels as distributions or as class numbers.
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/softmax_row.h"
#include "runtime/kernels/primitives/cpu/strided_loop.h"
#include "runtime/kernels/primitives/dtype_set.h"

namespace tessera {
namespace {

// Runs `compute` on float tensors in place of narrow ones: input `logits` (and `labels` if they
// have its dtype) and both outputs.
template <typename Compute>
absl::Status ComputeWide(KernelContext& ctx, const Tensor& logits, Tensor* loss, Tensor* gradient,
                         Compute compute) {
  if (!IsNarrowFloat(logits.dtype())) return compute(logits, loss, gradient);
  ASSIGN_OR_RETURN(const Tensor wide, WidenToFloat(logits, ctx.host_allocator()));
  ASSIGN_OR_RETURN(Tensor wide_loss, ctx.AllocateTemp(DType::kFloat, loss->shape()));
  ASSIGN_OR_RETURN(Tensor wide_gradient, ctx.AllocateTemp(DType::kFloat, gradient->shape()));
  RETURN_IF_ERROR(compute(wide, &wide_loss, &wide_gradient));
  NarrowFromFloat(wide_loss, loss);
  NarrowFromFloat(wide_gradient, gradient);
  return absl::OkStatus();
}

// Loss and gradient of one row: sum(labels * (log(sum(exp(x))) - x)), softmax(x) - labels.
// `gradient` must not overlap the others.
template <typename T>
T CrossEntropyRow(const T* x, const T* labels, int64_t label_stride, int64_t count, T* gradient) {
  T max;
  const T sum = ExpRow(x, count, gradient, &max);
  const T log_sum = std::log(sum);
  T loss = 0;
  for (int64_t i = 0; i < count; ++i) {
    const T label = labels[i * label_stride];
    if (label != T{0}) loss += label * (log_sum - (x[i] - max));
    gradient[i] = gradient[i] / sum - label;
  }
  return loss;
}

// Errors: INVALID_ARGUMENT unless features and labels broadcast to one matrix.
class SoftmaxCrossEntropyKernel : public OpKernel {
 public:
  explicit SoftmaxCrossEntropyKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& features = ctx.input(0);
    Tensor labels = ctx.input(1);
    ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(features.shape(), labels.shape()));
    if (!shape.IsMatrix()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "features and labels must broadcast to a matrix, not to ", shape.ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * loss, ctx.AllocateOutput(0, Shape{shape.dim(0)}));
    ASSIGN_OR_RETURN(Tensor * gradient, ctx.AllocateOutput(1, shape));
    if (IsNarrowFloat(labels.dtype())) {
      ASSIGN_OR_RETURN(labels, WidenToFloat(labels, ctx.host_allocator()));
    }
    return ComputeWide(
        ctx, features, loss, gradient, [&](const Tensor& x, Tensor* loss, Tensor* gradient) {
          return x.dtype() == DType::kDouble ? Run<double>(ctx, x, labels, shape, loss, gradient)
                                             : Run<float>(ctx, x, labels, shape, loss, gradient);
        });
  }

 private:
  template <typename T>
  static absl::Status Run(KernelContext& ctx, const Tensor& x, const Tensor& labels,
                          const Shape& shape, Tensor* loss, Tensor* gradient) {
    const int64_t columns = shape.dim(1);
    const ByteStrides xs = BroadcastByteStrides(x.shape(), shape, 1);
    const ByteStrides ls = BroadcastByteStrides(labels.shape(), shape, 1);
    ctx.ParallelFor(shape.dim(0), 3.0 * columns, [&](int64_t begin, int64_t end) {
      std::vector<T> repeated;
      for (int64_t row = begin; row < end; ++row) {
        const T* logits = x.data<T>() + row * xs[0];
        if (xs[1] == 0 && columns > 1) {
          repeated.assign(columns, *logits);
          logits = repeated.data();
        }
        loss->data<T>()[row] = CrossEntropyRow(logits, labels.data<T>() + row * ls[0], ls[1],
                                               columns, gradient->data<T>() + row * columns);
      }
    });
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SoftmaxCrossEntropyWithLogits", kCpu, SoftmaxCrossEntropyKernel)
    .TypeConstraint("T", DTypeList(kFloating));

// Errors: INVALID_ARGUMENT for shapes other than [batch, classes] and [batch], no classes, or a
// label that is no class.
class SparseSoftmaxCrossEntropyKernel : public OpKernel {
 public:
  explicit SparseSoftmaxCrossEntropyKernel(const KernelBuild&) {}

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
    ASSIGN_OR_RETURN(const IndexVector classes, ReadIndexVector(labels, "labels"));
    for (const int64_t label : classes) {
      if (label < 0 || label >= features.dim(1)) {
        return absl::InvalidArgumentError(absl::StrCat("label ", label, " is not one of the ",
                                                       features.dim(1), " classes [0, ",
                                                       features.dim(1), ")"));
      }
    }
    return ComputeWide(
        ctx, features, loss, gradient, [&](const Tensor& x, Tensor* loss, Tensor* gradient) {
          return x.dtype() == DType::kDouble ? Run<double>(ctx, x, classes, loss, gradient)
                                             : Run<float>(ctx, x, classes, loss, gradient);
        });
  }

 private:
  template <typename T>
  static absl::Status Run(KernelContext& ctx, const Tensor& x, const IndexVector& labels,
                          Tensor* loss, Tensor* gradient) {
    const int64_t columns = x.dim(1);
    ctx.ParallelFor(x.dim(0), 3.0 * columns, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* const logits = x.data<T>() + row * columns;
        T* const out = gradient->data<T>() + row * columns;
        T max;
        const T sum = ExpRow(logits, columns, out, &max);
        loss->data<T>()[row] = std::log(sum) - (logits[labels[row]] - max);
        for (int64_t i = 0; i < columns; ++i) out[i] /= sum;
        out[labels[row]] -= T{1};
      }
    });
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("SparseSoftmaxCrossEntropyWithLogits", kCpu, SparseSoftmaxCrossEntropyKernel)
    .TypeConstraint("T", DTypeList(kFloating));

}  // namespace
}  // namespace tessera

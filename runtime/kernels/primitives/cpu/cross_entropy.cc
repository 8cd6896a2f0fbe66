#include "runtime/kernels/primitives/cross_entropy.h"

#include <cmath>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/softmax_row.h"

namespace tessera {
namespace {

// Calls compute(logits, loss, gradient) with float tensors in place of narrow ones.
template <typename Compute>
absl::Status ComputeWide(KernelContext& ctx, const Tensor& logits, Tensor* loss, Tensor* gradient,
                         Compute compute) {
  if (!IsNarrowFloat(logits.dtype())) {
    compute(logits, loss, gradient);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Tensor wide, WidenToFloat(logits, ctx.host_allocator()));
  ASSIGN_OR_RETURN(Tensor wide_loss, ctx.AllocateTemp(DType::kFloat, loss->shape()));
  ASSIGN_OR_RETURN(Tensor wide_gradient, ctx.AllocateTemp(DType::kFloat, gradient->shape()));
  compute(wide, &wide_loss, &wide_gradient);
  NarrowFromFloat(wide_loss, loss);
  NarrowFromFloat(wide_gradient, gradient);
  return absl::OkStatus();
}

// Returns the loss of one row and sets its gradient.
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

template <typename T>
void DenseRows(KernelContext& ctx, const Tensor& x, MatrixStrides xs, const Tensor& labels,
               MatrixStrides ls, Tensor* loss, Tensor* gradient) {
  const int64_t columns = gradient->dim(1);
  ctx.ParallelFor(gradient->dim(0), 3.0 * columns, [&](int64_t begin, int64_t end) {
    std::vector<T> repeated;
    for (int64_t row = begin; row < end; ++row) {
      const T* logits = x.data<T>() + row * xs.row;
      if (xs.column == 0 && columns > 1) {
        repeated.assign(columns, *logits);
        logits = repeated.data();
      }
      loss->data<T>()[row] = CrossEntropyRow(logits, labels.data<T>() + row * ls.row, ls.column,
                                             columns, gradient->data<T>() + row * columns);
    }
  });
}

absl::Status RunCrossEntropy(KernelContext& ctx, const Tensor& logits, MatrixStrides logit_strides,
                             const Tensor& labels, MatrixStrides label_strides, Tensor* loss,
                             Tensor* gradient) {
  Tensor weights = labels;
  if (IsNarrowFloat(labels.dtype())) {
    ASSIGN_OR_RETURN(weights, WidenToFloat(labels, ctx.host_allocator()));
  }
  return ComputeWide(
      ctx, logits, loss, gradient, [&](const Tensor& x, Tensor* loss, Tensor* gradient) {
        const auto rows = x.dtype() == DType::kDouble ? DenseRows<double> : DenseRows<float>;
        rows(ctx, x, logit_strides, weights, label_strides, loss, gradient);
      });
}
REGISTER_PRIMITIVE(SoftmaxCrossEntropy, kCpu, RunCrossEntropy);

using Classes = absl::InlinedVector<int64_t, 8>;

template <typename T>
void SparseRows(KernelContext& ctx, const Tensor& x, const Classes& labels, Tensor* loss,
                Tensor* gradient) {
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
}

absl::Status RunSparseCrossEntropy(KernelContext& ctx, const Tensor& logits, const Tensor& labels,
                                   Tensor* loss, Tensor* gradient) {
  Classes classes;
  if (labels.dtype() == DType::kInt32) {
    classes.assign(labels.flat<int32_t>().begin(), labels.flat<int32_t>().end());
  } else {
    classes.assign(labels.flat<int64_t>().begin(), labels.flat<int64_t>().end());
  }
  const int64_t columns = logits.dim(1);
  for (const int64_t label : classes) {
    if (label >= 0 && label < columns) continue;
    return absl::InvalidArgumentError(absl::StrCat("label ", label, " is not one of the ", columns,
                                                   " classes [0, ", columns, ")"));
  }
  return ComputeWide(
      ctx, logits, loss, gradient, [&](const Tensor& x, Tensor* loss, Tensor* gradient) {
        const auto rows = x.dtype() == DType::kDouble ? SparseRows<double> : SparseRows<float>;
        rows(ctx, x, classes, loss, gradient);
      });
}
REGISTER_PRIMITIVE(SparseSoftmaxCrossEntropy, kCpu, RunSparseCrossEntropy);

}  // namespace
}  // namespace tessera

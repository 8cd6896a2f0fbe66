#include "runtime/kernels/primitives/cross_entropy.h"

#include <cmath>
#include <vector>

#include "Eigen/Core"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/softmax_row.h"
#include "runtime/kernels/primitives/cpu/stepwise_softmax_row.h"

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

// A row of logits and the row of their gradient. `first` is the index of its first element in the
// tensor.
template <typename T>
struct LogitRow {
  const T* x;
  int64_t first;
  int64_t count;
  T* gradient;
};

// The loops for rows of float and double. Both functions return the loss of one row and set its
// gradient. Dense() gets scratch memory of one element for each class, which is not used here.
template <typename T>
struct PlainRow {
  using Value = T;

  static T Dense(const LogitRow<T>& row, const T* labels, int64_t label_stride, T* /*scratch*/) {
    T max;
    const T sum = ExpRow(row.x, row.count, row.gradient, &max);
    const T log_sum = std::log(sum);
    T loss = 0;
    for (int64_t i = 0; i < row.count; ++i) {
      const T label = labels[i * label_stride];
      loss += label * (log_sum - (row.x[i] - max));  // NaN for no chance and no label, 0 * inf
      row.gradient[i] = row.gradient[i] / sum - label;
    }
    return loss;
  }

  static T Sparse(const LogitRow<T>& row, int64_t label) {
    T max;
    const T sum = ExpRow(row.x, row.count, row.gradient, &max);
    for (int64_t i = 0; i < row.count; ++i) row.gradient[i] /= sum;
    row.gradient[label] -= T{1};
    return std::log(sum) - (row.x[label] - max);
  }
};

// The loops for rows of half or bfloat16, whose numbers are held as floats. Each step is rounded to
// Storage, and elements are added in Eigen's order, as in TensorFlow.
template <typename Storage>
struct StepwiseRow {
  using Value = float;
  using Number = Rounded<Storage>;

  static float Dense(const LogitRow<float>& row, const float* labels, int64_t label_stride,
                     float* terms) {
    float max;
    const Number sum = ExpRowStepwise<Storage>(row.x, row.first, row.count, row.gradient, &max);
    const Number log_sum = Log(sum);
    for (int64_t i = 0; i < row.count; ++i) {
      const Number label = Number::FromStored(labels[i * label_stride]);
      const Number shifted = row.x[i] - max;
      terms[i] = (label * (log_sum - shifted)).value();
      row.gradient[i] = (Number::FromStored(row.gradient[i]) / sum - label).value();
    }
    return ReduceStepwise<Storage, StepwiseSum>(terms, row.first, row.count).value();
  }

  static float Sparse(const LogitRow<float>& row, int64_t label) {
    float max;
    const Number sum = ExpRowStepwise<Storage>(row.x, row.first, row.count, row.gradient, &max);
    for (int64_t i = 0; i < row.count; ++i) {
      row.gradient[i] = (Number::FromStored(row.gradient[i]) / sum).value();
    }
    row.gradient[label] = (Number::FromStored(row.gradient[label]) - 1).value();
    const Number shifted = row.x[label] - max;
    return (Log(sum) - shifted).value();
  }
};

// Calls visit(row) with the functions for rows of a dtype.
template <typename Visitor>
void VisitRows(DType dtype, Visitor visit) {
  switch (dtype) {
    case DType::kDouble:
      return visit(PlainRow<double>());
    case DType::kHalf:
      return visit(StepwiseRow<Eigen::half>());
    case DType::kBfloat16:
      return visit(StepwiseRow<Eigen::bfloat16>());
    default:
      return visit(PlainRow<float>());
  }
}

template <typename Row>
void DenseRows(KernelContext& ctx, const Tensor& x, MatrixStrides xs, const Tensor& labels,
               MatrixStrides ls, Tensor* scratch, Tensor* loss, Tensor* gradient) {
  using T = typename Row::Value;
  const int64_t columns = gradient->dim(1);
  ctx.ParallelFor(gradient->dim(0), 3.0 * columns, [&](int64_t begin, int64_t end) {
    std::vector<T> repeated;
    for (int64_t row = begin; row < end; ++row) {
      const T* logits = x.data<T>() + row * xs.row;
      if (xs.column == 0 && columns > 1) {
        repeated.assign(columns, *logits);
        logits = repeated.data();
      }
      const int64_t first = row * columns;
      loss->data<T>()[row] =
          Row::Dense({logits, first, columns, gradient->data<T>() + first},
                     labels.data<T>() + row * ls.row, ls.column, scratch->data<T>() + first);
    }
  });
}

absl::Status RunCrossEntropy(KernelContext& ctx, const Tensor& logits, MatrixStrides logit_strides,
                             const Tensor& labels, MatrixStrides label_strides, Tensor* loss,
                             Tensor* gradient) {
  Tensor weights = labels;
  Tensor terms = *gradient;  // only narrow floats use it; they get scratch memory
  if (IsNarrowFloat(labels.dtype())) {
    ASSIGN_OR_RETURN(weights, WidenToFloat(labels, ctx.host_allocator()));
    ASSIGN_OR_RETURN(terms, ctx.AllocateTemp(DType::kFloat, gradient->shape()));
  }
  return ComputeWide(
      ctx, logits, loss, gradient, [&](const Tensor& x, Tensor* loss, Tensor* gradient) {
        VisitRows(logits.dtype(), [&]<typename Row>(Row) {
          DenseRows<Row>(ctx, x, logit_strides, weights, label_strides, &terms, loss, gradient);
        });
      });
}
REGISTER_PRIMITIVE(SoftmaxCrossEntropy, kCpu, RunCrossEntropy);

using Classes = absl::InlinedVector<int64_t, 8>;

template <typename Row>
void SparseRows(KernelContext& ctx, const Tensor& x, const Classes& labels, Tensor* loss,
                Tensor* gradient) {
  using T = typename Row::Value;
  const int64_t columns = x.dim(1);
  ctx.ParallelFor(x.dim(0), 3.0 * columns, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = row * columns;
      loss->data<T>()[row] = Row::Sparse(
          {x.data<T>() + first, first, columns, gradient->data<T>() + first}, labels[row]);
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
        VisitRows(logits.dtype(),
                  [&]<typename Row>(Row) { SparseRows<Row>(ctx, x, classes, loss, gradient); });
      });
}
REGISTER_PRIMITIVE(SparseSoftmaxCrossEntropy, kCpu, RunSparseCrossEntropy);

}  // namespace
}  // namespace tessera

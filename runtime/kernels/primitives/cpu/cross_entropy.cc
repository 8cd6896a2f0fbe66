#include "runtime/kernels/primitives/cross_entropy.h"

#include <cmath>
#include <vector>

#include "Eigen/Core"
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

// Rows of float and double. Both functions return the loss of one row and set its gradient.
template <typename T>
struct PlainRow {
  using Value = T;

  static T Dense(const T* x, const T* labels, int64_t label_stride, int64_t count, T* gradient) {
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

  static T Sparse(const T* x, int64_t label, int64_t count, T* gradient) {
    T max;
    const T sum = ExpRow(x, count, gradient, &max);
    for (int64_t i = 0; i < count; ++i) gradient[i] /= sum;
    gradient[label] -= T{1};
    return std::log(sum) - (x[label] - max);
  }
};

// Rows of half or bfloat16, whose numbers are held as floats. Each step is rounded to Storage, and
// sums have the order of Eigen's, as in TensorFlow.
template <typename Storage>
class StepwiseRow {
 public:
  using Value = float;

  static float Dense(const float* x, const float* labels, int64_t label_stride, int64_t count,
                     float* gradient) {
    std::vector<float> terms(count);
    const float sum = Exponentials(x, count, terms.data(), gradient);
    const float log_sum = Round(math::Log(sum));
    for (int64_t i = 0; i < count; ++i) {
      const float label = labels[i * label_stride];
      terms[i] = label == 0 ? 0 : Round(label * Round(log_sum - terms[i]));
      gradient[i] = Round(Round(gradient[i] / sum) - label);
    }
    return Sum(terms.data(), count);
  }

  static float Sparse(const float* x, int64_t label, int64_t count, float* gradient) {
    std::vector<float> shifted(count);
    const float sum = Exponentials(x, count, shifted.data(), gradient);
    for (int64_t i = 0; i < count; ++i) gradient[i] = Round(gradient[i] / sum);
    gradient[label] = Round(gradient[label] - 1);
    return Round(Round(math::Log(sum)) - shifted[label]);
  }

 private:
  static float Round(float value) { return static_cast<float>(static_cast<Storage>(value)); }

  // shifted = x - max(x), exponentials = exp(shifted). Returns the sum of the exponentials.
  static float Exponentials(const float* x, int64_t count, float* shifted, float* exponentials) {
    const float max = ReduceRow<reduce::Max>(x, count);
    for (int64_t i = 0; i < count; ++i) {
      shifted[i] = Round(x[i] - max);
      exponentials[i] = Round(math::Exp(shifted[i]));
    }
    return Sum(exponentials, count);
  }

  // Four vectors take turns while there are elements for all of them. The elements of the last sum
  // of vectors are added in float, and those after the last whole vector by themselves.
  static float Sum(const float* x, int64_t count) {
    constexpr int kVectors = 4, kLanes = 8;
    float sums[kVectors][kLanes] = {};
    const auto add = [](float* sum, const float* addend) {
      for (int lane = 0; lane < kLanes; ++lane) sum[lane] = Round(sum[lane] + addend[lane]);
    };
    int64_t i = 0;
    for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
      for (int v = 0; v < kVectors; ++v) add(sums[v], x + i + v * kLanes);
    }
    float* const all = sums[0];
    for (int v = 1; v < kVectors; ++v) add(all, sums[v]);
    for (; i + kLanes <= count; i += kLanes) add(all, x + i);
    float rest = 0;
    for (; i < count; ++i) rest = Round(rest + x[i]);
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) all[lane] += all[lane + half];
    }
    return Round(rest + Round(all[0]));
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
               MatrixStrides ls, Tensor* loss, Tensor* gradient) {
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
      loss->data<T>()[row] = Row::Dense(logits, labels.data<T>() + row * ls.row, ls.column, columns,
                                        gradient->data<T>() + row * columns);
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
        VisitRows(logits.dtype(), [&]<typename Row>(Row) {
          DenseRows<Row>(ctx, x, logit_strides, weights, label_strides, loss, gradient);
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
      loss->data<T>()[row] = Row::Sparse(x.data<T>() + row * columns, labels[row], columns,
                                         gradient->data<T>() + row * columns);
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

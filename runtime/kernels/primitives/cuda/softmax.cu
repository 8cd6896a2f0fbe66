// Softmax and the losses that contain it.
#include "runtime/kernels/primitives/cross_entropy.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"
#include "runtime/kernels/primitives/reducers.h"
#include "runtime/kernels/primitives/softmax.h"

namespace tessera::cuda {
namespace {

// What normalises a row: its greatest element, and the sum of exp(x - greatest).
template <typename A>
struct RowScale {
  A greatest, sum;
};

// `x(c)` is the row's element c.
template <typename A, typename Element>
__device__ RowScale<A> ScaleOf(const Rows& rows, int64_t columns, Element x) {
  A greatest = reduce::Max::Neutral<A>();
  for (int64_t c = rows.Lane(); c < columns; c += rows.threads) {
    greatest = reduce::Max{}.Add(greatest, x(c));
  }
  greatest = rows.Reduce(greatest, [](A a, A b) { return reduce::Max{}.Merge(a, b); });
  A sum = 0;
  for (int64_t c = rows.Lane(); c < columns; c += rows.threads) {
    sum += math::ExpOfNegative(x(c) - greatest);
  }
  return {greatest, rows.Reduce(sum, [](A a, A b) { return a + b; })};
}

template <typename A>
__global__ void SoftmaxRows(Rows rows, SoftmaxKind kind, int64_t columns, Input<A> logits,
                            Output<A> output) {
  for (int64_t row = rows.First(); row < rows.count; row += rows.Step()) {
    const int64_t base = row * columns;
    const RowScale<A> scale =
        ScaleOf<A>(rows, columns, [&](int64_t c) { return logits[base + c]; });
    const A log_sum = kind == SoftmaxKind::kLogSoftmax ? math::Log(scale.sum) : A{0};
    for (int64_t c = rows.Lane(); c < columns; c += rows.threads) {
      const A shifted = logits[base + c] - scale.greatest;
      output.Set(base + c, kind == SoftmaxKind::kLogSoftmax
                               ? shifted - log_sum
                               : math::ExpOfNegative(shifted) / scale.sum);
    }
  }
}

absl::Status RunSoftmax(KernelContext& ctx, SoftmaxKind kind, int64_t rows, int64_t columns,
                        const Tensor& logits, Tensor* output) {
  return VisitComputeType<kFloating>(logits.dtype(), [&]<typename A>() {
    return LaunchRows(ctx, rows, columns, SoftmaxRows<A>, kind, columns, Input<A>(logits),
                      Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(Softmax, RunSoftmax);

template <typename A>
__global__ void CrossEntropyRows(Rows rows, int64_t columns, Input<A> logits, MatrixStrides xs,
                                 Input<A> labels, MatrixStrides ls, Output<A> loss,
                                 Output<A> gradient) {
  for (int64_t row = rows.First(); row < rows.count; row += rows.Step()) {
    const auto x = [&](int64_t c) { return logits[row * xs.row + c * xs.column]; };
    const RowScale<A> scale = ScaleOf<A>(rows, columns, x);
    const A log_sum = math::Log(scale.sum);
    A total = 0;
    for (int64_t c = rows.Lane(); c < columns; c += rows.threads) {
      const A label = labels[row * ls.row + c * ls.column], shifted = x(c) - scale.greatest;
      total += label * (log_sum - shifted);
      gradient.Set(row * columns + c, math::ExpOfNegative(shifted) / scale.sum - label);
    }
    total = rows.Reduce(total, [](A a, A b) { return a + b; });
    if (rows.Lane() == 0) loss.Set(row, total);
  }
}

absl::Status RunCrossEntropy(KernelContext& ctx, const Tensor& logits, MatrixStrides logit_strides,
                             const Tensor& labels, MatrixStrides label_strides, Tensor* loss,
                             Tensor* gradient) {
  return VisitComputeType<kFloating>(logits.dtype(), [&]<typename A>() {
    return LaunchRows(ctx, gradient->dim(0), gradient->dim(1), CrossEntropyRows<A>,
                      gradient->dim(1), Input<A>(logits), logit_strides, Input<A>(labels),
                      label_strides, Output<A>(loss), Output<A>(gradient));
  });
}
REGISTER_CUDA_PRIMITIVE(SoftmaxCrossEntropy, RunCrossEntropy);

template <typename A>
__global__ void SparseCrossEntropyRows(Rows rows, int64_t columns, Input<A> logits, Indices labels,
                                       Output<A> loss, Output<A> gradient) {
  for (int64_t row = rows.First(); row < rows.count; row += rows.Step()) {
    const int64_t base = row * columns, label = labels[row];
    const bool valid = label >= 0 && label < columns;
    const RowScale<A> scale =
        ScaleOf<A>(rows, columns, [&](int64_t c) { return logits[base + c]; });
    for (int64_t c = rows.Lane(); c < columns; c += rows.threads) {
      const A share = math::ExpOfNegative(logits[base + c] - scale.greatest) / scale.sum;
      gradient.Set(base + c, valid ? share - (c == label ? A{1} : A{0}) : A(math::kNaN));
    }
    if (rows.Lane() != 0) continue;
    loss.Set(row, valid ? math::Log(scale.sum) - (logits[base + label] - scale.greatest)
                        : A(math::kNaN));
  }
}

absl::Status RunSparseCrossEntropy(KernelContext& ctx, const Tensor& logits, const Tensor& labels,
                                   Tensor* loss, Tensor* gradient) {
  return VisitComputeType<kFloating>(logits.dtype(), [&]<typename A>() {
    return LaunchRows(ctx, logits.dim(0), logits.dim(1), SparseCrossEntropyRows<A>, logits.dim(1),
                      Input<A>(logits), Indices(labels), Output<A>(loss), Output<A>(gradient));
  });
}
REGISTER_CUDA_PRIMITIVE(SparseSoftmaxCrossEntropy, RunSparseCrossEntropy);

}  // namespace
}  // namespace tessera::cuda

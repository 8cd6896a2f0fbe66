// Cross entropy between labels and the softmax of logits, with its gradient.
//
// Both primitives set loss[row] = -sum(labels * log(softmax(logits))) and, in the gradient by the
// logits, gradient[row] = softmax(logits) - labels. Logits, losses and gradients have one dtype:
// half and bfloat16, which are computed in float, float or double. `gradient` is [rows, columns],
// `loss` is [rows]; neither shares memory with an input. A row of logits with a NaN gives a loss
// and gradients of NaN; labels of 0 add nothing to the loss, whatever the logit.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// The distances, in elements, between neighbouring rows and between neighbouring columns of a
// matrix. A distance of 0 repeats one row or column.
struct MatrixStrides {
  int64_t row = 0, column = 0;
};

struct SoftmaxCrossEntropy {
  // Takes `labels` of the dtype of `logits`, which hold a weight for each class. The strides of
  // both matrices may repeat rows or columns.
  using Function = absl::Status(KernelContext& ctx, const Tensor& logits,
                                MatrixStrides logit_strides, const Tensor& labels,
                                MatrixStrides label_strides, Tensor* loss, Tensor* gradient);
};

struct SparseSoftmaxCrossEntropy {
  // `logits` is [rows, columns] with at least one column; `labels`, int32 or int64, is [rows] and
  // names the class whose weight is 1.
  // Errors: INVALID_ARGUMENT for a label that is no column. A device that cannot see the labels
  // before it returns makes the loss and the gradients of such a row NaN.
  using Function = absl::Status(KernelContext& ctx, const Tensor& logits, const Tensor& labels,
                                Tensor* loss, Tensor* gradient);
};

}  // namespace tessera

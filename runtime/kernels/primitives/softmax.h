// Softmax over rows.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

enum class SoftmaxKind {
  kSoftmax,     // exp(x) / sum(exp(x))
  kLogSoftmax,  // x - log(sum(exp(x)))
};

struct Softmax {
  // Applies `kind` to each of `rows` rows of `columns` elements of `logits`, which are half,
  // bfloat16, float or double. `output` has the dtype and the number of elements of `logits` and
  // may lie in the same memory. half and bfloat16 are computed in float.
  //
  // The greatest element of a row is subtracted first, so that no row of finite numbers overflows.
  // A row with NaN or infinity, or of minus infinities only, becomes NaN. Each row is computed by
  // itself, in an order that depends on `columns` only.
  using Function = absl::Status(KernelContext& ctx, SoftmaxKind kind, int64_t rows, int64_t columns,
                                const Tensor& logits, Tensor* output);
};

}  // namespace tessera

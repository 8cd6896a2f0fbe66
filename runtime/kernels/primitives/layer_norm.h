// Layer normalisation over rows (Ba, Kiros and Hinton, arXiv:1607.06450), fused with an addition
// before it.
#pragma once

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

struct LayerNorm {
  struct Operands {
    int64_t rows = 0, columns = 0;
    float epsilon = 0;               // added to the variance
    const Tensor& x;                 // rows * columns floats, like `addend` and `y`
    const Tensor* addend = nullptr;  // added to x first; null: nothing is added
    const Tensor& gamma;             // `columns` floats, like `beta`
    const Tensor& beta;
    Tensor* y;  // may share memory with x, but not with `addend`
  };

  // Computes y = (z - mean) / sqrt(variance + epsilon) * gamma + beta for each row of z = x +
  // addend. A row is computed by itself, in an order that depends on `columns` and the device only.
  // A row with NaN or an infinity becomes NaN.
  using Function = absl::Status(KernelContext& ctx, const Operands& operands);
};

}  // namespace tessera

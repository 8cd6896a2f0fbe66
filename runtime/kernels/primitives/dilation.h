// Primitives: grey-scale dilation by a structuring function, and its gradients.
//
// Images are [batch, height, width, channels], a filter [height, width, channels]. All tensors have
// one dtype, which is a real number; outputs are allocated and overlap no input. Errors:
// UNIMPLEMENTED for other dtypes.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// How the filter moves over the rows, or over the columns. Position p of the filter at output o
// lies over o * stride - pad_before + p * rate.
struct DilationAxis {
  int64_t stride = 1, rate = 1, pad_before = 0;
};

// y[b, i, j, c] is the maximum over the window of x[b, ., ., c] + filter[., ., c]. What lies
// outside the image does not count. A window without anything in it gives the lowest finite value,
// and the first sum counts even if it is NaN.
struct Dilation {
  using Function = absl::Status(KernelContext& ctx, const DilationAxis& rows,
                                const DilationAxis& columns, const Tensor& x, const Tensor& filter,
                                Tensor* y);
};

enum class DilationOperand { kInput, kFilter };

// The gradient with respect to one operand, whose shape `output` has: each element of `gradient`,
// which has y's shape, is added to that of the operand's elements that made the maximum.
struct DilationGradient {
  using Function = absl::Status(KernelContext& ctx, DilationOperand operand,
                                const DilationAxis& rows, const DilationAxis& columns,
                                const Tensor& x, const Tensor& filter, const Tensor& gradient,
                                Tensor* output);
};

}  // namespace tessera

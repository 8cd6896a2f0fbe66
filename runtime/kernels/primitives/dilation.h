// The primitives of grey-scale dilation by a structuring function and of its gradients.
//
// Images are [batch, height, width, channels], a filter [height, width, channels]. All tensors have
// one dtype, which is a real number; outputs are allocated and overlap no input. Errors:
// UNIMPLEMENTED for other dtypes.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The movement of the filter over the rows, or over the columns. Position p of the filter at output
// o lies over o * stride - pad_before + p * rate.
struct DilationAxis {
  int64_t stride = 1, rate = 1, pad_before = 0;
};

// Sets y[b, i, j, c] to the maximum over the window of x[b, ., ., c] + filter[., ., c]. Positions
// outside the image are left out, and so are sums that are not above the lowest finite value, such
// as NaN. A window without any other sum gives the lowest finite value.
struct Dilation {
  using Function = absl::Status(KernelContext& ctx, const DilationAxis& rows,
                                const DilationAxis& columns, const Tensor& x, const Tensor& filter,
                                Tensor* y);
};

enum class DilationOperand { kInput, kFilter };

// Computes the gradient with respect to one operand, whose shape `output` has. Each element of
// `gradient`, which has y's shape, is added to the element of the operand that made the maximum. If
// no sum is above the lowest finite value, this is the first element of the window in the image, or
// the nearest to its begin if the filter is empty, and the first one of the filter. The output is
// not empty.
struct DilationGradient {
  using Function = absl::Status(KernelContext& ctx, DilationOperand operand,
                                const DilationAxis& rows, const DilationAxis& columns,
                                const Tensor& x, const Tensor& filter, const Tensor& gradient,
                                Tensor* output);
};

}  // namespace tessera

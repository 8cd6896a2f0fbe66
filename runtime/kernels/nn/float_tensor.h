// Inputs and outputs of float or half as tensors of floats, for kernels that compute in float.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Returns input i, or its values as floats. Errors: RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> FloatInput(KernelContext& ctx, int i);

// Allocates output i, and returns it or, if it is of half, scratch memory of the same shape that
// StoreOutput() converts. Errors: RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> FloatOutput(KernelContext& ctx, int i, const Shape& shape);

// Brings the values to output i, unless `value` is that output.
void StoreOutput(KernelContext& ctx, int i, const Tensor& value);

}  // namespace tessera

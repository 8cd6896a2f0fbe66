// NonZero, for other kernels of this folder.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"

namespace tessera::cuda {

// See NonZero (runtime/kernels/primitives/non_zero.h).
absl::StatusOr<Tensor> FindNonZero(KernelContext& ctx, const Tensor& input);

}  // namespace tessera::cuda

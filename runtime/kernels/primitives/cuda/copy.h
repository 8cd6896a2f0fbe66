// The strided copy, for primitives that arrange their operands.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera::cuda {

// The primitive StridedCopy on GPUs (runtime/kernels/primitives/strided_copy.h).
absl::Status RunStridedCopy(KernelContext& ctx, absl::Span<const int64_t> dims, const Tensor& from,
                            StridedView from_view, Tensor* to, StridedView to_view);

}  // namespace tessera::cuda

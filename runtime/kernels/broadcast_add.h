// Sums of shapes that differ, for fused ops, which seldom meet them.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// a + b, broadcast as AddV2 does, element by element. Both have the same real dtype.
// Errors: INVALID_ARGUMENT for shapes that do not broadcast.
absl::StatusOr<Tensor> BroadcastAdd(KernelContext& ctx, const Tensor& a, const Tensor& b);

}  // namespace tessera

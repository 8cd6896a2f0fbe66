// The primitive that adds up tensors.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// Adds two or more tensors of `count` elements of one numeric dtype, from the first to the last.
// `sum` may be addends[0]. Each addition of narrow floats is rounded.
struct AddN {
  using Function = absl::Status(KernelContext& ctx, DType dtype, int64_t count,
                                absl::Span<const char* const> addends, char* sum);
};

}  // namespace tessera

// The primitive that applies an activation by itself.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/activation.h"

namespace tessera {

// Replaces each element of `values` by its activation; `alpha` is that of kLeakyRelu. NaN stays
// NaN. Errors: UNIMPLEMENTED for a dtype that is not a real number.
struct Activate {
  using Function = absl::Status(KernelContext& ctx, Activation activation, float alpha,
                                Tensor* values);
};

}  // namespace tessera

// The activation of what a library has computed without it.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/activation.h"

namespace tessera::cuda {

// The primitive Activate on GPUs (runtime/kernels/primitives/activate.h).
absl::Status RunActivate(KernelContext& ctx, Activation activation, float alpha, Tensor* values);

}  // namespace tessera::cuda

// Activations of a row of values, compiled for AVX-512: to be called only where the machine has it.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/cpu/activation.h"

namespace tessera {

// Replaces `count` values by their activations; `alpha` is that of kLeakyRelu.
using ActivationLoop = void (*)(float alpha, float* values, int64_t count);

// The loop of an activation; null for those that only clamp.
ActivationLoop ActivationLoopOf(Activation activation);

}  // namespace tessera

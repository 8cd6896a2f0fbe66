// Vectorised activations, compiled for AVX-512. Only processors that have it may call them.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/activation.h"

namespace tessera {

// Replaces `count` values by their activations. `alpha` is used by kLeakyRelu alone.
using ActivationLoop = void (*)(float alpha, float* values, int64_t count);

// Returns the loop of an activation, or null if the activation is a clamp.
ActivationLoop ActivationLoopOf(Activation activation);

}  // namespace tessera

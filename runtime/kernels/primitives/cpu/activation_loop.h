// Vectorised activations.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/activation.h"

namespace tessera {

// Replaces `count` values by their activations. `alpha` is used by kLeakyRelu alone.
using ActivationLoop = void (*)(float alpha, float* values, int64_t count);

// Returns the loop of an activation, or null if the activation is a clamp. Compiled for AVX-512 (F,
// BW, DQ and VL), and for what every processor here has.
namespace avx512 {
ActivationLoop ActivationLoopOf(Activation activation);
}
namespace avx2 {
ActivationLoop ActivationLoopOf(Activation activation);
}

// Returns the loop of an activation for this processor, or null if the activation is a clamp.
ActivationLoop ActivationLoopOf(Activation activation);

}  // namespace tessera

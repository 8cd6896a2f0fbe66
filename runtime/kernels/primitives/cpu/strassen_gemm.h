// The driver of GEMMs by Strassen's algorithm (strassen.h), with weights that are packed in panels
// of floats.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/epilogue.h"

namespace tessera {

// The number of rows from which on the sums of weights pay for themselves.
inline constexpr int64_t kMinStrassenRows = 256;

// Returns true if Strassen's algorithm can multiply by k x n weights: the depth and the number of
// panels must be even, and the halves of the depth whole vectors.
bool StrassenSupports(int64_t n, int64_t k);

// out = epilogue(a * weights) for at least kMinStrassenRows rows and weights that
// StrassenSupports(), on this thread alone. Requires AVX-512.
// `panels` are the weights as packed by FmaMicroKernel(). Errors: RESOURCE_EXHAUSTED for about 7
// MiB of scratch memory.
absl::Status StrassenGemm(KernelContext& ctx, int64_t m, int64_t n, int64_t k, const float* a,
                          const float* panels, const Epilogue& epilogue, float* out);

}  // namespace tessera

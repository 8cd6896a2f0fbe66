// The driver of GEMMs by Strassen's algorithm (strassen.h), with weights that are packed in panels
// of floats.
#pragma once

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/epilogue.h"

namespace tessera {

// The number of rows from which on the sums of weights pay for themselves.
inline constexpr int64_t kMinStrassenRows = 256;

// Returns true if a product of m rows, at least kMinStrassenRows, with k x n weights can be
// computed by Strassen's algorithm and is then faster than by BlockedGemm(). Assumes AVX-512.
bool StrassenPays(int64_t m, int64_t n, int64_t k);

// out = epilogue(a * weights) for shapes for which StrassenPays() is true, on this thread alone.
// `panels` are the weights as packed by FmaMicroKernel(). Errors: RESOURCE_EXHAUSTED for about 7
// MiB of scratch memory.
absl::Status StrassenGemm(KernelContext& ctx, int64_t m, int64_t n, int64_t k, const float* a,
                          const float* panels, const Epilogue& epilogue, float* out);

}  // namespace tessera

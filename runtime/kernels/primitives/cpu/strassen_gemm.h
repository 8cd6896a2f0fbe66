// The driver of GEMMs by Strassen's algorithm (strassen.h), with weights that are packed in panels
// of floats.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/cpu/epilogue.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera {

// Returns the smallest number of rows for which Strassen's algorithm is faster than plain products.
// For fewer rows, summing the weights takes as long as the eighth of the products that it saves.
int64_t MinStrassenRows(const MachineSpeeds& speeds);
// The smallest number of panel pairs per thread for which it pays that each thread sums all rows.
inline constexpr int64_t kMinStrassenPairs = 4;

// Returns true if Strassen's algorithm can multiply by k x n weights: the halves of the depth must
// be whole vectors, and there must be a pair of panels. A last panel without a partner is
// multiplied directly.
bool StrassenSupports(int64_t n, int64_t k);

// Returns a tensor of bytes that tells which pairs of the panels are balanced (strassen.h), for
// each part of the depth, behind k floats: the magnitudes of the weights of each term, relative to
// the largest in its part. `panels` are k x n weights that StrassenSupports(), as packed by
// FmaMicroKernel(). Errors: RESOURCE_EXHAUSTED.
absl::StatusOr<Tensor> BalancedPanels(int64_t n, int64_t k, const float* panels);

// out = epilogue(a * weights) for m x k rows.
struct StrassenProduct {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  const float* panels = nullptr;
  const char* balanced = nullptr;  // the bytes of BalancedPanels()
  Epilogue epilogue;
  float* out = nullptr;
};

// The number of pairs of panels. A last panel without a partner counts as one.
int64_t StrassenPairs(int64_t n);

// Computes the columns of the panel pairs [first, end) on this thread alone. Errors:
// RESOURCE_EXHAUSTED for about 7 MiB of scratch memory.
absl::Status StrassenGemm(KernelContext& ctx, const StrassenProduct& product, int64_t first,
                          int64_t end);

}  // namespace tessera

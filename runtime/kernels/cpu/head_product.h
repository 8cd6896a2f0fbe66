// Matrix products of all heads of an attention, whose matrices lie between each other in memory.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// A matrix for each head: element (r, c) of head h at h * head_step + r * row_step + c *
// column_step. One of the last two is 1; a head_step of 0 gives all heads the same matrix.
struct HeadMatrices {
  int64_t head_step = 0, row_step = 0, column_step = 1;
};

// out = a * b, m x k times k x n, for each of `heads` heads, on the calling thread alone.
// Errors: RESOURCE_EXHAUSTED for scratch memory; INTERNAL if oneDNN fails.
absl::Status MultiplyHeads(KernelContext& ctx, int64_t heads, int64_t m, int64_t n, int64_t k,
                           const HeadMatrices& a_layout, const float* a,
                           const HeadMatrices& b_layout, const float* b,
                           const HeadMatrices& out_layout, float* out);

}  // namespace tessera

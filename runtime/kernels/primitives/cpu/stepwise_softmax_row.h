// One row of a softmax of half or bfloat16 that rounds after each operation, as TensorFlow's CPU
// kernels do. Numbers are held as floats. For files with LOOP_COPTS.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/cpu/softmax_row.h"
#include "runtime/kernels/primitives/cpu/stepwise_run.h"

namespace tessera {

// out = exp(x - max(x)). Returns the sum; *max is the greatest element. `first` is the index of the
// row's first element in its tensor; `out` may be `x`.
template <typename Storage>
Rounded<Storage> ExpRowStepwise(const float* x, int64_t first, int64_t count, float* out,
                                float* max) {
  const float greatest = ReduceRow<reduce::Max>(x, count);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const Rounded<Storage> shifted = x[i] - greatest;
    out[i] = Exp(shifted).value();
  }
  *max = greatest;
  return ReduceStepwise<Storage, StepwiseSum>(out, first, count);
}

// out = exp(x) / sum(exp(x)). `out` may be `x`.
template <typename Storage>
void SoftmaxRowStepwise(const float* x, int64_t first, int64_t count, float* out) {
  float max;
  const Rounded<Storage> sum = ExpRowStepwise<Storage>(x, first, count, out, &max);
  const float scale = (Rounded<Storage>(1) / sum).value();
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = Rounded<Storage>(out[i] * scale).value();
}

// out = x - log(sum(exp(x))). `scratch` has `count` elements; `out` may be `x`.
template <typename Storage>
void LogSoftmaxRowStepwise(const float* x, int64_t first, int64_t count, float* out,
                           float* scratch) {
  float max;
  const Rounded<Storage> log_sum = Log(ExpRowStepwise<Storage>(x, first, count, scratch, &max));
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const Rounded<Storage> shifted = x[i] - max;
    out[i] = (shifted - log_sum).value();
  }
}

}  // namespace tessera

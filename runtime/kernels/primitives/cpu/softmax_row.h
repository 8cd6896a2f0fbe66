// One row of a softmax, in loops that the compiler vectorises. For files with LOOP_COPTS.
#pragma once

#include <cstdint>

#include "runtime/kernels/primitives/cpu/typed_reduction.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"
#include "runtime/kernels/primitives/reducers.h"

namespace tessera {

template <typename R, typename T>
T ReduceRow(const T* x, int64_t count) {
  T result = R::template Neutral<T>();
  TypedReduction<R, T>::Run(reinterpret_cast<char*>(&result), reinterpret_cast<const char*>(x),
                            count);
  return result;
}

// out = exp(x - max(x)). Returns the sum; *max is the greatest element. `out` may be `x`.
template <typename T>
T ExpRow(const T* x, int64_t count, T* out, T* max) {
  const T greatest = ReduceRow<reduce::Max>(x, count);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = math::ExpOfNegative(x[i] - greatest);
  *max = greatest;
  return ReduceRow<reduce::Sum>(out, count);
}

// out = exp(x) / sum(exp(x)). `out` may be `x`.
template <typename T>
void SoftmaxRow(const T* x, int64_t count, T* out) {
  T max;
  const T scale = T{1} / ExpRow(x, count, out, &max);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] *= scale;
}

// out = x - log(sum(exp(x))). `scratch` has `count` elements; `out` may be `x`.
template <typename T>
void LogSoftmaxRow(const T* x, int64_t count, T* out, T* scratch) {
  T max;
  const T log_sum = math::Log(ExpRow(x, count, scratch, &max));
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = (x[i] - max) - log_sum;
}

}  // namespace tessera
